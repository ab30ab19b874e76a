/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tensors of a safetensors file, or of a folder of them with their index: mapped for reading.
 */
#ifndef MS_INPUT_WEIGHTS_TENSOR_FILES_H
#define MS_INPUT_WEIGHTS_TENSOR_FILES_H

#include "input/weights/safetensors.h"

typedef struct ms_tensor_file {
    ms_header_file head;
    const uint8_t *data; /* the whole file */
    ms_safetensors tensors;
} ms_tensor_file;

typedef struct ms_tensor_entry {
    const char *tensor; /* of the document */
    uint32_t file;
} ms_tensor_entry;

typedef struct ms_tensor_index {
    ms_json *document;
    ms_vec(const char *) files;      /* each once, by name: names in the folder, never paths */
    ms_vec(ms_tensor_entry) tensors; /* by name */
} ms_tensor_index;

typedef struct ms_tensor_files {
    const char *path; /* that was given */
    ms_vec(ms_tensor_file) files;
    ms_tensor_index index; /* of a folder that has one: it has the same order */
    char *index_text;
} ms_tensor_files;

/* A file, or a folder with model.safetensors.index.json or model.safetensors. Texts are of the
 * arena, and files are noted in its inputs. MS_ERR_IO: it cannot be read; MS_ERR_CONFIG: it is no
 * such file. On failure nothing is left to free. */
ms_status ms_tensor_files_open(ms_arena *arena, const char *path, ms_tensor_files *files,
                               ms_error *err);
void ms_tensor_files_close(ms_tensor_files *files); /* may be called again */

/* False when there is none of that name. `*data` are its bytes. */
bool ms_tensor_files_find(const ms_tensor_files *files, const char *name,
                          const ms_safetensor **tensor, const uint8_t **data);

/* Whether the files are as long as they were: the mapping of a shorter one cannot be read. */
ms_status ms_tensor_files_check(const ms_tensor_files *files, ms_error *err);

/* model.safetensors.index.json: which file of a folder has which tensor. */

/* ---- tensor index quick ---- */

/* An index as transformers writes it, read block by block without a tree: which files it
 * names, and what the names of their tensors sum to. What is accepted here, the strict reader
 * (tensor_index.h) accepts, but for names that come twice: the sums of their files are then
 * not those of the headers. */

typedef struct ms_quick_file {
    const char *name;          /* of the arena */
    uint64_t tensors, digests; /* ms_plain_digest of their names, added */
} ms_quick_file;

typedef struct ms_quick_index {
    ms_vec(ms_quick_file) files; /* in the order in which they are first named */
    uint32_t last;               /* that was named last */
} ms_quick_index;

/* Where the text comes from: fills `to` with up to so many bytes; 0: there are no more. */
typedef struct ms_quick_source {
    size_t (*read)(void *context, char *to, size_t room);
    void *context;
} ms_quick_source;

/* False: it is for the strict reader, or memory is short. Free it in any case. */
bool ms_quick_index_read(ms_arena *arena, const ms_quick_source *source, ms_quick_index *index);
void ms_quick_index_free(ms_quick_index *index);

/* The text must stay valid as long as the result. MS_ERR_CONFIG: it is no such index. On failure
 * nothing is left to free. */
ms_status ms_tensor_index_read(const ms_json_source *source, ms_tensor_index *index, ms_error *err);
void ms_tensor_index_free(ms_tensor_index *index);

/* The number of the file that has the tensor; UINT32_MAX when none has. */
uint32_t ms_tensor_index_find(const ms_tensor_index *index, const char *tensor);

#endif
