/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The types of the tensors in a quantised file that does not exist yet: what llama-quantize chooses
 * without an importance matrix, from a file of 16-bit floats.
 */
#ifndef MS_SERVE_INFER_LLAMA_QUANT_MIX_H
#define MS_SERVE_INFER_LLAMA_QUANT_MIX_H

#include "serve/infer/llama/model.h"

typedef enum ms_llama_mix {
    MS_LLAMA_MIX_F16,
    MS_LLAMA_MIX_BF16,
    MS_LLAMA_MIX_MXFP4, /* of experts; the rest is in Q8_0 */
    MS_LLAMA_MIX_Q8_0,
    MS_LLAMA_MIX_Q6_K,
    MS_LLAMA_MIX_Q5_K_M,
    MS_LLAMA_MIX_Q4_K_M,
    MS_LLAMA_MIX_Q4_K_S,
    MS_LLAMA_MIX_Q4_0,
    MS_LLAMA_MIX_Q3_K_M,
    MS_LLAMA_MIX_Q2_K,
    MS_LLAMA_MIXES
} ms_llama_mix;

/* "Q4_K_M"; ends with NULL. Of one model ms_llama_quants has them by size. */
extern const char *const ms_llama_mix_names[];

/* By name, ignoring case; "MXFP4_MOE", as llama-quantize has it, is MXFP4. */
ms_status ms_llama_mix_find(const char *name, ms_llama_mix *mix, ms_error *err);

/* What the file has whose type is not given: what the config says, else F16. */
ms_llama_mix ms_llama_mix_of_config(const ms_model_config *config);

/* Sets the types of the tensors that ms_llama_tensors_make listed. */
ms_status ms_llama_mix_apply(ms_llama_mix mix, ms_llama_model *model, ms_error *err);

#endif
