/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/weights/stored_type.h"

#include <stddef.h>
#include <strings.h>

/* Sizes of blocks: the structs of ggml (ggml-common.h). */
/* clang-format off */
static const ms_stored_type types[] = {
    [MS_STORED_F32]     = {"F32",      0,   1,   4, false},
    [MS_STORED_F16]     = {"F16",      1,   1,   2, false},
    [MS_STORED_BF16]    = {"BF16",    30,   1,   2, false},
    [MS_STORED_F64]     = {"F64",     28,   1,   8, false},
    [MS_STORED_I8]      = {"I8",      24,   1,   1, false},
    [MS_STORED_I16]     = {"I16",     25,   1,   2, false},
    [MS_STORED_I32]     = {"I32",     26,   1,   4, false},
    [MS_STORED_I64]     = {"I64",     27,   1,   8, false},
    [MS_STORED_Q4_0]    = {"Q4_0",     2,  32,  18, true},
    [MS_STORED_Q4_1]    = {"Q4_1",     3,  32,  20, true},
    [MS_STORED_Q5_0]    = {"Q5_0",     6,  32,  22, true},
    [MS_STORED_Q5_1]    = {"Q5_1",     7,  32,  24, true},
    [MS_STORED_Q8_0]    = {"Q8_0",     8,  32,  34, true},
    [MS_STORED_Q8_1]    = {"Q8_1",     9,  32,  36, true},
    [MS_STORED_Q2_K]    = {"Q2_K",    10, 256,  84, true},
    [MS_STORED_Q3_K]    = {"Q3_K",    11, 256, 110, true},
    [MS_STORED_Q4_K]    = {"Q4_K",    12, 256, 144, true},
    [MS_STORED_Q5_K]    = {"Q5_K",    13, 256, 176, true},
    [MS_STORED_Q6_K]    = {"Q6_K",    14, 256, 210, true},
    [MS_STORED_Q8_K]    = {"Q8_K",    15, 256, 292, true},
    [MS_STORED_IQ1_S]   = {"IQ1_S",   19, 256,  50, true},
    [MS_STORED_IQ1_M]   = {"IQ1_M",   29, 256,  56, true},
    [MS_STORED_IQ2_XXS] = {"IQ2_XXS", 16, 256,  66, true},
    [MS_STORED_IQ2_XS]  = {"IQ2_XS",  17, 256,  74, true},
    [MS_STORED_IQ2_S]   = {"IQ2_S",   22, 256,  82, true},
    [MS_STORED_IQ3_XXS] = {"IQ3_XXS", 18, 256,  98, true},
    [MS_STORED_IQ3_S]   = {"IQ3_S",   21, 256, 110, true},
    [MS_STORED_IQ4_NL]  = {"IQ4_NL",  20,  32,  18, true},
    [MS_STORED_IQ4_XS]  = {"IQ4_XS",  23, 256, 136, true},
    [MS_STORED_TQ1_0]   = {"TQ1_0",   34, 256,  54, true},
    [MS_STORED_TQ2_0]   = {"TQ2_0",   35, 256,  66, true},
    [MS_STORED_MXFP4]   = {"MXFP4",   39,  32,  17, true},
    [MS_STORED_NVFP4]   = {"NVFP4",   40,  64,  36, true},
};
/* clang-format on */
_Static_assert(sizeof types / sizeof types[0] == MS_STORED_TYPES, "a stored type has no row");

const ms_stored_type *ms_stored_type_of(ms_stored_id id)
{
    return &types[id];
}

ms_stored_id ms_stored_type_numbered(uint64_t number)
{
    for (int i = 0; i < MS_STORED_TYPES; i++)
        if (types[i].gguf_number == number)
            return (ms_stored_id)i;
    return MS_STORED_TYPES;
}

ms_stored_id ms_stored_type_named(const char *name)
{
    for (int i = 0; i < MS_STORED_TYPES; i++)
        if (strcasecmp(types[i].name, name) == 0)
            return (ms_stored_id)i;
    return MS_STORED_TYPES;
}

ms_size ms_stored_row_bytes(ms_stored_id id, uint64_t elements)
{
    const ms_stored_type *t = &types[id];
    return ms_size_mul(ms_size_of(elements / t->block_elements), t->block_bytes);
}
