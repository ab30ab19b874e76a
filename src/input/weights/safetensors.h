/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The header of a safetensors file: which tensors it has, and where. Nothing that it says is used
 * before it is checked: every tensor lies within the file, no two overlap, and no byte is left
 * over.
 */
#ifndef MS_INPUT_WEIGHTS_SAFETENSORS_H
#define MS_INPUT_WEIGHTS_SAFETENSORS_H

#include <stdio.h>

#include "base/arena.h"
#include "base/json/value.h"
#include "base/vec.h"

enum { MS_SAFETENSORS_LENGTH_BYTES = 8, MS_SAFETENSORS_MAX_RANK = 8 };

/* A type of elements, as the format spells it. */
typedef struct ms_safetensors_type {
    const char *name; /* "BF16" */
    uint8_t bits;     /* of an element */
    bool is_floating;
} ms_safetensors_type;

typedef struct ms_safetensor {
    const char *name; /* of the document */
    const ms_safetensors_type *type;
    uint64_t begin, bytes; /* in the file */
    uint64_t shape[MS_SAFETENSORS_MAX_RANK];
    uint32_t rank;
    uint64_t digest;     /* of the name, where it was read quickly */
    ms_json_value value; /* for messages */
} ms_safetensor;

typedef struct ms_safetensors {
    ms_json *document;
    ms_vec(ms_safetensor) tensors; /* by name */
} ms_safetensors;

/* How many bytes the header has that follows the first eight bytes of a file. MS_ERR_CONFIG: more
 * than the file, or than MS_JSON_MAX_BYTES. `name` is the file's. */
ms_status ms_safetensors_length(const char *name, const uint8_t first[MS_SAFETENSORS_LENGTH_BYTES],
                                uint64_t file_bytes, uint64_t *length, ms_error *err);

/* Reads the header's text, which must stay valid as long as the result. MS_ERR_CONFIG: it is none,
 * or it does not describe a file of so many bytes. On failure nothing is left to free. */
ms_status ms_safetensors_read(const ms_json_source *header, uint64_t file_bytes,
                              ms_safetensors *tensors, ms_error *err);
void ms_safetensors_free(ms_safetensors *tensors);

/* NULL when there is no such tensor. */
const ms_safetensor *ms_safetensors_find(const ms_safetensors *tensors, const char *name);

/* ---- safetensors quick ---- */

/* Headers as the format's own library writes them, read without a tree: names are plain ASCII,
 * members come in the usual order, and tensors one after the other. What is accepted here, the
 * strict reader (safetensors.h) accepts and reads the same; everything else is for it, with
 * its messages. */

/* Names, as digests, each once: an open table. Free with ms_digest_set_free. */
typedef struct ms_digest_set {
    uint64_t *slots; /* 0: free */
    uint64_t capacity, count;
} ms_digest_set;

/* Adds it. *is_new: it was not there. False when out of memory. */
bool ms_digest_set_add(ms_digest_set *set, uint64_t digest, bool *is_new);
void ms_digest_set_free(ms_digest_set *set);

/* What is kept from one header to the next. */
typedef struct ms_quick_header {
    ms_vec(ms_safetensor) tensors; /* in the order of the file; `value` is not set */
    ms_digest_set names;           /* of this header */
} ms_quick_header;

/* Reads a header of a file of so many bytes. Names are of the text, in which their final quotes
 * become NULs. False, with the text unchanged: it is for the strict reader, or memory is short. */
bool ms_quick_header_read(char *text, size_t length, uint64_t file_bytes, ms_quick_header *header);
void ms_quick_header_free(ms_quick_header *header);

/* ---- header file ---- */

/* A safetensors file on disk: opened, and its header's text read. */

#define MS_WEIGHTS_FILE "model.safetensors"
#define MS_WEIGHTS_INDEX "model.safetensors.index.json"

typedef struct ms_header_file {
    const char *path; /* of the caller */
    FILE *file;
    uint64_t bytes; /* of the whole file */
    char *text;     /* of the header: `length` bytes in a block of `room` */
    size_t length, room;
} ms_header_file;

/* Opens it, and notes it in the arena's inputs. The text of an earlier file is written over.
 * MS_ERR_IO: it cannot be read; MS_ERR_CONFIG: it is no such file. Close it also after a failure.
 */
ms_status ms_header_file_open(ms_arena *arena, const char *path, ms_header_file *f, ms_error *err);
/* Keeps the text. */
void ms_header_file_close(ms_header_file *f);
void ms_header_file_free(ms_header_file *f); /* closes it, and frees the text */

/* One sentence about a file of weights; yields the status. */
ms_status ms_header_file_fail(const char *path, ms_status status, const char *why, ms_error *err);

static inline ms_json_source ms_header_file_source(const ms_header_file *f)
{
    return (ms_json_source){f->path, f->text, f->length};
}

#endif
