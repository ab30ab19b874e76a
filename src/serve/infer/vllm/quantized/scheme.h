/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How linear layers hold their weights: as vLLM reads a config's quantization_config, or as
 * --quantization makes them.
 */
#ifndef MS_SERVE_INFER_VLLM_QUANTIZED_SCHEME_H
#define MS_SERVE_INFER_VLLM_QUANTIZED_SCHEME_H

#include "serve/infer/kit/engine.h"
#include "serve/infer/vllm/arch.h"

typedef enum ms_vllm_scheme_kind {
    MS_VLLM_PLAIN,
    MS_VLLM_FP8_MADE,  /* of plain weights, on loading */
    MS_VLLM_FP8_BLOCK, /* a scale for each 128 x 128 weights */
    MS_VLLM_GPTQ,      /* 4 bits; scales and zeros of groups, and the group of each input */
    MS_VLLM_AWQ,       /* the same without the groups of inputs */
    MS_VLLM_FP8_ROWS,  /* a scale for each output */
    MS_VLLM_PACKED,    /* 4 bits of compressed-tensors: scales of groups */
    MS_VLLM_MXFP4,     /* experts alone, in 4 bits with a scale for 32 */
    MS_VLLM_SCHEMES
} ms_vllm_scheme_kind;

typedef struct ms_vllm_scheme {
    ms_vllm_scheme_kind kind;
    uint64_t group;        /* inputs that share a scale; 0: all */
    bool has_plain_router; /* the config excepts routers of experts */
    bool runs_marlin; /* linear layers run Marlin's kernel: there is none of the device's own */
} ms_vllm_scheme;

/* What is the same for all linear layers of a kind: a row. */
typedef struct ms_vllm_scheme_row {
    const char *name;           /* "fp8", for titles; NULL: that of the type */
    uint32_t least, most;       /* compute capabilities whose own kernels are known */
    uint32_t marlin_below;      /* from 8.0 to below it, Marlin's kernel runs; 0: nowhere */
    uint64_t in_step, out_step; /* widths of layers that the kernel takes; 0: all */
    bool knows_experts;         /* and those of mixtures, by the device's own kernels */
    bool has_marlin_experts;    /* or by Marlin's, on all devices */
    bool knows_latent;          /* and those of latent attention */
    bool asks_deep_gemm;        /* when a model is built */
    uint32_t cache_scales;      /* of files, which are looked for */
    bool keeps_ranges;          /* of the cache, to compute scales from */
    uint64_t input_block;       /* inputs are quantised, a scale for so many; 0: for all */
    uint64_t expert_rows; /* that a block of Triton's kernel of mixtures takes; 0: Marlin's runs */
    bool quantises_input, has_input_scale; /* has_input_scale: a scalar that is not used */
} ms_vllm_scheme_row;

const ms_vllm_scheme_row *ms_vllm_scheme_row_of(ms_vllm_scheme_kind kind);

/* Whether linear layers outside mixtures are in the model's type. */
static inline bool ms_vllm_scheme_is_plain(const ms_vllm_scheme *scheme)
{
    return scheme->kind == MS_VLLM_PLAIN || scheme->kind == MS_VLLM_MXFP4;
}

/* MS_ERR_CONFIG: not known, by name. */
ms_status ms_vllm_scheme_read(const ms_infer_job *job, const ms_vllm_arch *arch,
                              ms_vllm_scheme *scheme, ms_error *err);

#endif
