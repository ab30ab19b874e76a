/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Quantised bases: linear layers whose frozen weights are stored in few bits, as given by
 * `--quantize` or a config's quantization_config:
 *
 *     nf4, fp4      bitsandbytes, 4 bits and a scale for every 64 weights; ":double": the scales
 *                   are quantised too; ":bf16", ":fp16", ":fp32": packed as numbers of that type,
 *                   so that FSDP can share them
 *     int8          bitsandbytes (LLM.int8), 8 bits and a scale for every row
 *     gptq:4:128    2, 4 or 8 bits, a scale and a zero for every 128 weights of a column (-1: one
 *                   for all), and the group of each row
 *     awq:4:128     the same without the groups of rows; 4 bits
 *     fp8-block     8 bits, and a scale for every block of 128 by 128 weights
 *     mxfp4         4 bits and a scale for every 32 weights, in the file alone: training needs them
 *                   dequantised, and loads them so
 *
 * Files of compressed-tensors are known to engines that serve models; training them is refused.
 */
#ifndef MS_INPUT_CONFIG_QUANTIZE_QUANTIZE_H
#define MS_INPUT_CONFIG_QUANTIZE_QUANTIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json/value.h"
#include "core/tensor/dtype.h"

typedef enum ms_quantize_kind {
    MS_QUANTIZE_NONE,
    MS_QUANTIZE_NF4,
    MS_QUANTIZE_FP4,
    MS_QUANTIZE_INT8,
    MS_QUANTIZE_GPTQ,
    MS_QUANTIZE_AWQ,
    MS_QUANTIZE_FP8_BLOCK,
    MS_QUANTIZE_MXFP4,
    MS_QUANTIZE_COMPRESSED,
    MS_QUANTIZE_KIND_COUNT
} ms_quantize_kind;

typedef struct ms_quantization {
    ms_quantize_kind kind;
    bool is_double;           /* the scales are quantised too (bnb_4bit_use_double_quant) */
    bool is_default_excepted; /* awq: the default exceptions apply in addition */
    uint32_t bits;            /* gptq and awq: bits per weight */
    uint32_t group_weights;   /* gptq and awq: weights that share a scale; 0: a whole column */
    bool has_compute_dtype;   /* bnb_4bit_compute_dtype; else the dtype of the weights */
    ms_dtype compute_dtype;
    bool has_storage_dtype;        /* nf4, fp4: bnb_4bit_quant_storage is no uint8 */
    ms_dtype storage_dtype;        /* but bf16, fp16 or fp32 */
    const char *const *exceptions; /* patterns of modules that are not converted; NULL: not given */
    uint32_t exception_count;
    const char *const *converted; /* gptq: ends of the names of converted modules; NULL: all are */
    uint32_t converted_count;
    bool sorts_inputs;     /* gptq: desc_act; kernels that serve sort inputs by their group */
    bool is_asymmetric;    /* gptq: "sym" is false */
    bool has_power_scales; /* fp8: scales are powers of two, in a byte (e8m0) */
    bool is_served;        /* resolved: by a kernel that does not train */
    bool is_dequantized; /* resolved: dequantised on loading, as it cannot be trained or run packed
                          */
} ms_quantization;

/* The type of the numbers that hold packed weights. */
static inline ms_dtype ms_quantization_storage(const ms_quantization *quantization)
{
    return quantization->has_storage_dtype ? quantization->storage_dtype : MS_DTYPE_U8;
}

enum { MS_FP8_BLOCK = 128 }; /* rows and columns that share a scale */

/* Whether weights stay packed while the model trains. */
static inline bool ms_is_packed(const ms_quantization *quantization)
{
    return quantization->kind != MS_QUANTIZE_NONE && !quantization->is_dequantized;
}

/* Of bitsandbytes: in four bits, or in any. */
static inline bool ms_is_in_four_bits(const ms_quantization *quantization)
{
    return quantization->kind == MS_QUANTIZE_NF4 || quantization->kind == MS_QUANTIZE_FP4;
}

static inline bool ms_is_bitsandbytes(const ms_quantization *quantization)
{
    return ms_is_in_four_bits(quantization) || quantization->kind == MS_QUANTIZE_INT8;
}

/* Whether PEFT's prepare_model_for_kbit_training casts weights of such a base that are not packed.
 */
typedef enum ms_upcasting {
    MS_UPCAST_NEVER,   /* it does not change dtypes */
    MS_UPCAST_IF_SAID, /* it casts, but trainers do not call it */
    MS_UPCAST_USUALLY
} ms_upcasting;
ms_upcasting ms_upcasting_of(ms_quantize_kind kind);

/* Parses a value of `--quantize`. The error lists the accepted values. */
ms_status ms_quantization_parse(const char *text, ms_quantization *quantization, ms_error *err);
/* The equivalent value of `--quantize`, in the arena; NULL when out of memory. */
const char *ms_quantization_text(ms_arena *arena, const ms_quantization *quantization);

/* ---- which modules ---- */

/* The names of unconverted modules, prepared for lookups. */
typedef struct ms_exceptions ms_exceptions;

/* ---- quantize modules ---- */

/* Which linear layers a loader converts: transformers' should_convert_module. */

/* Fails if a name is an unsupported pattern. The caller owns *exceptions, NULL after a failure; the
 * quantization must outlive them. */
ms_status ms_exceptions_new(const ms_quantization *quantization, ms_exceptions **exceptions,
                            ms_error *err);
void ms_exceptions_free(ms_exceptions *exceptions); /* NULL is fine */
/* Whether the loader converts a linear layer. Not converted: modules that the file excepts and, by
 * default, the output head. */
bool ms_exceptions_convert(ms_exceptions *exceptions, const char *module, bool is_head);
/* Whether an answer above may be wrong, because the patterns took MS_PATTERN_MOST_STEPS. */
bool ms_exceptions_gave_up(const ms_exceptions *exceptions);

/* ---- quantize read ---- */

/* A config's quantization_config: one reader for each method, with the names and defaults of
 * transformers' classes (utils/quantization_config.py). */

/* Reads a quantization_config; unsupported methods are refused by name. Names are copied to the
 * arena. */
ms_status ms_quantization_read(ms_arena *arena, ms_json_value value, ms_quantization *quantization,
                               ms_error *err);

#endif
