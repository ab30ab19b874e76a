/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * model.safetensors.index.json: which file of a folder has which tensor.
 */
#ifndef MS_INPUT_WEIGHTS_TENSOR_INDEX_H
#define MS_INPUT_WEIGHTS_TENSOR_INDEX_H

#include "base/vec.h"
#include "base/json/value.h"

typedef struct ms_tensor_entry {
    const char *tensor; /* of the document */
    uint32_t file;
} ms_tensor_entry;

typedef struct ms_tensor_index {
    ms_json *document;
    ms_vec(const char *) files;      /* each once, by name: names in the folder, never paths */
    ms_vec(ms_tensor_entry) tensors; /* by name */
} ms_tensor_index;

/* The text must stay valid as long as the result. MS_ERR_CONFIG: it is no such index. On failure
 * nothing is left to free. */
ms_status ms_tensor_index_read(const ms_json_source *source, ms_tensor_index *index, ms_error *err);
void ms_tensor_index_free(ms_tensor_index *index);

/* The number of the file that has the tensor; UINT32_MAX when none has. */
uint32_t ms_tensor_index_find(const ms_tensor_index *index, const char *tensor);

#endif
