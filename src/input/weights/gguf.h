/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The header of a GGUF file, version 2 or 3: metadata, and which tensors it has and where. The data
 * is never read. Nothing that the header says is used before it is checked: every tensor lies
 * within the file, has whole blocks in each row, and a name of its own.
 */
#ifndef MS_INPUT_WEIGHTS_GGUF_H
#define MS_INPUT_WEIGHTS_GGUF_H

#include "base/arena.h"
#include "base/error.h"
#include "base/inputs.h"
#include "base/vec.h"
#include "input/weights/stored_type.h"

enum { MS_GGUF_MAX_RANK = 4, MS_GGUF_MAX_LIST = 4096 };

/* Types of metadata, as the file numbers them. */
typedef enum ms_gguf_kind {
    MS_GGUF_U8,
    MS_GGUF_I8,
    MS_GGUF_U16,
    MS_GGUF_I16,
    MS_GGUF_U32,
    MS_GGUF_I32,
    MS_GGUF_F32,
    MS_GGUF_BOOL,
    MS_GGUF_TEXT,
    MS_GGUF_LIST,
    MS_GGUF_U64,
    MS_GGUF_I64,
    MS_GGUF_F64,
    MS_GGUF_KINDS
} ms_gguf_kind;

typedef struct ms_gguf_value {
    const char *key;
    ms_gguf_kind kind, of; /* `of`: of a list's elements */
    uint64_t at;           /* byte of the file where it stands */
    uint64_t count;        /* elements of a list */
    int64_t number;        /* whole numbers and truths */
    double real;           /* fractions */
    const char *text;
    const int64_t *list; /* whole numbers of a list of up to MS_GGUF_MAX_LIST; else NULL */
} ms_gguf_value;

typedef struct ms_gguf_tensor {
    const char *name;
    ms_stored_id type;
    uint32_t rank, file;              /* index of the split */
    uint64_t shape[MS_GGUF_MAX_RANK]; /* the fastest dimension first; 1 past the rank */
    uint64_t elements, bytes;
    uint64_t begin; /* in its file */
} ms_gguf_tensor;

typedef struct ms_gguf {
    uint32_t version, alignment;
    uint64_t header_bytes, file_bytes; /* the data begins after the header, aligned */
    ms_vec(ms_gguf_value) values;      /* sorted by key */
    ms_vec(ms_gguf_tensor) tensors;    /* in the order of the file */
} ms_gguf;

/* Where the bytes come from; `read` fills `to` or fails. */
typedef struct ms_gguf_source {
    const char *name; /* for messages */
    uint64_t bytes;
    const void *from;
    ms_status (*read)(const void *from, uint64_t at, void *to, size_t bytes, ms_error *err);
} ms_gguf_source;

/* Reads a header; texts go to the arena. Frees everything after a failure, which is one sentence
 * with the offset in the file. MS_ERR_CONFIG: it is no GGUF file, or lies. */
ms_status ms_gguf_read(ms_arena *arena, const ms_gguf_source *source, ms_gguf *gguf, ms_error *err);
void ms_gguf_free(ms_gguf *gguf);

/* NULL when there is none. */
const ms_gguf_value *ms_gguf_find(const ms_gguf *gguf, const char *key);

/* ---- gguf files ---- */

/* GGUF files on disk, and models that are split over several. */

/* A file, or the first of a split model, whose others are beside it: their tensors are added, each
 * with its file's index. `*splits`: how many files. */
ms_status ms_gguf_files_open(ms_arena *arena, const char *path, ms_gguf *gguf, uint32_t *splits,
                             ms_error *err);

/* Whether a file of that path, which the inputs admit, begins as a GGUF file does. */
bool ms_gguf_files_is_one(ms_inputs *inputs, const char *path);

/* ---- cursor ---- */

/* Reads a binary header from its start on, in blocks; little-endian. A failure names the byte. */

typedef struct ms_cursor {
    const ms_gguf_source *source;
    uint64_t at;        /* the next byte */
    uint64_t block_at;  /* of the bytes in `block` */
    size_t block_bytes; /* 0: none */
    uint8_t *block;     /* of MS_CURSOR_BLOCK bytes */
    ms_error *err;
} ms_cursor;

/* Fails with "byte N: ..." and the file's name. */
__attribute__((format(printf, 3, 4))) ms_status ms_cursor_fail(const ms_cursor *c, uint64_t at,
                                                               const char *format, ...);

#endif
