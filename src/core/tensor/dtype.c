/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tensor/dtype.h"

#include <stddef.h>

static const char fp32[] = "fp32", bf16[] = "bf16", fp16[] = "fp16";

/* clang-format off */
static const ms_dtype_info dtypes[] = {
    [MS_DTYPE_F32]  = {"float32",  fp32, 4, true},
    [MS_DTYPE_BF16] = {"bfloat16", bf16, 2, true},
    [MS_DTYPE_F16]  = {"float16",  fp16, 2, true},
    [MS_DTYPE_F64]  = {"float64",  "fp64", 8, true},
    [MS_DTYPE_I64]  = {"int64",    "i64",  8, false},
    [MS_DTYPE_I32]  = {"int32",    "i32",  4, false},
    [MS_DTYPE_U64]  = {"uint64",   "u64",  8, false},
    [MS_DTYPE_U8]   = {"uint8",    "u8",   1, false},
    [MS_DTYPE_BOOL] = {"bool",     "bool", 1, false},
    [MS_DTYPE_C64]  = {"complex64", "c64", 8, true},
};
/* clang-format on */
_Static_assert(sizeof dtypes / sizeof dtypes[0] == MS_DTYPE_COUNT, "a dtype has no row");

const ms_words ms_dtype_words = {&dtypes[0].name, MS_DTYPE_COUNT, sizeof dtypes[0], 2};
const ms_words ms_dtype_short_words = {&dtypes[0].short_name, MS_DTYPE_COUNT, sizeof dtypes[0], 0};

const char *const ms_dtype_weight_names[] = {
    [MS_DTYPE_F32] = fp32, [MS_DTYPE_BF16] = bf16, [MS_DTYPE_F16] = fp16, NULL};

const ms_dtype_info *ms_dtype_info_of(ms_dtype dtype)
{
    return &dtypes[dtype];
}

bool ms_dtype_parse(const char *name, ms_dtype *dtype)
{
    const uint32_t found = ms_words_find(&ms_dtype_words, name);
    if (found < MS_DTYPE_COUNT)
        *dtype = (ms_dtype)found;
    return found < MS_DTYPE_COUNT;
}
