/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The header of a safetensors file: which tensors it has, and where. Nothing that it says is used
 * before it is checked: every tensor lies within the file, no two overlap, and no byte is left
 * over.
 */
#ifndef MS_INPUT_WEIGHTS_SAFETENSORS_H
#define MS_INPUT_WEIGHTS_SAFETENSORS_H

#include "base/vec.h"
#include "base/json/value.h"

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

/* The types, by index; NULL past the last. By a name that need not end there; NULL: not known. */
const ms_safetensors_type *ms_safetensors_type_at(size_t index);
const ms_safetensors_type *ms_safetensors_type_named(const char *name, size_t bytes);

/* NULL when there is no such tensor. */
const ms_safetensor *ms_safetensors_find(const ms_safetensors *tensors, const char *name);

#endif
