/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Element types. A dtype is a row; block size and bytes per block cover quantised formats too.
 */
#ifndef MS_CORE_TENSOR_DTYPE_H
#define MS_CORE_TENSOR_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/words.h"

typedef enum ms_dtype {
    MS_DTYPE_F32,
    MS_DTYPE_BF16,
    MS_DTYPE_F16,
    MS_DTYPE_F64,
    MS_DTYPE_I64,
    MS_DTYPE_I32,
    MS_DTYPE_U64,
    MS_DTYPE_U8,
    MS_DTYPE_BOOL,
    MS_DTYPE_C64, /* two fp32 */
    MS_DTYPE_COUNT
} ms_dtype;

typedef struct ms_dtype_info {
    const char *name;       /* as PyTorch prints it, e.g. "bfloat16" */
    const char *short_name; /* as options spell it, e.g. "bf16" */
    uint8_t bytes;          /* per element */
    bool floating;
} ms_dtype_info;

const ms_dtype_info *ms_dtype_info_of(ms_dtype dtype);
extern const ms_words ms_dtype_words; /* both names */
extern const ms_words ms_dtype_short_words;

static inline uint64_t ms_dtype_bytes(ms_dtype dtype)
{
    static const uint8_t bytes[MS_DTYPE_COUNT] = {4, 2, 2, 8, 8, 4, 8, 1, 1, 8};
    return bytes[dtype];
}

/* The short names of the dtypes that weights may have; ends with NULL. */
extern const char *const ms_dtype_weight_names[];

/* Finds a dtype by either of its names ("bf16", "bfloat16"); false when unknown. */
bool ms_dtype_parse(const char *name, ms_dtype *dtype);

#endif
