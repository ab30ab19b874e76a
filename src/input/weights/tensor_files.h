/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tensors of a safetensors file, or of a folder of them with their index: mapped for reading.
 */
#ifndef MS_INPUT_WEIGHTS_TENSOR_FILES_H
#define MS_INPUT_WEIGHTS_TENSOR_FILES_H

#include "input/weights/header_file.h"
#include "input/weights/safetensors.h"
#include "input/weights/tensor_index.h"

typedef struct ms_tensor_file {
    ms_header_file head;
    const uint8_t *data; /* the whole file */
    ms_safetensors tensors;
} ms_tensor_file;

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

#endif
