/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How elements of a weight are stored in a GGUF file. A type is a row; its elements come in blocks.
 */
#ifndef MS_INPUT_WEIGHTS_STORED_TYPE_H
#define MS_INPUT_WEIGHTS_STORED_TYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/size.h"

typedef enum ms_stored_id {
    MS_STORED_F32,
    MS_STORED_F16,
    MS_STORED_BF16,
    MS_STORED_F64,
    MS_STORED_I8,
    MS_STORED_I16,
    MS_STORED_I32,
    MS_STORED_I64,
    MS_STORED_Q4_0,
    MS_STORED_Q4_1,
    MS_STORED_Q5_0,
    MS_STORED_Q5_1,
    MS_STORED_Q8_0,
    MS_STORED_Q8_1,
    MS_STORED_Q2_K,
    MS_STORED_Q3_K,
    MS_STORED_Q4_K,
    MS_STORED_Q5_K,
    MS_STORED_Q6_K,
    MS_STORED_Q8_K,
    MS_STORED_IQ1_S,
    MS_STORED_IQ1_M,
    MS_STORED_IQ2_XXS,
    MS_STORED_IQ2_XS,
    MS_STORED_IQ2_S,
    MS_STORED_IQ3_XXS,
    MS_STORED_IQ3_S,
    MS_STORED_IQ4_NL,
    MS_STORED_IQ4_XS,
    MS_STORED_TQ1_0,
    MS_STORED_TQ2_0,
    MS_STORED_MXFP4,
    MS_STORED_NVFP4,
    MS_STORED_TYPES
} ms_stored_id;

typedef struct ms_stored_type {
    const char *name;     /* "Q4_K" */
    uint32_t gguf_number; /* in the file */
    uint32_t block_elements, block_bytes;
    bool is_quantized; /* elements of a block share scales */
} ms_stored_type;

const ms_stored_type *ms_stored_type_of(ms_stored_id id);
/* By the number in a file, or by name ("q8_0", ignoring case); MS_STORED_TYPES: there is none. */
ms_stored_id ms_stored_type_numbered(uint64_t number);
ms_stored_id ms_stored_type_named(const char *name);

/* Bytes of a row; the elements are whole blocks. */
ms_size ms_stored_row_bytes(ms_stored_id id, uint64_t elements);

#endif
