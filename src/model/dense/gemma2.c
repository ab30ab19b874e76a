/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 2: families/gemma2.family has its keys, modules and calls; what its successors share is
 * here.
 */
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "model/dense/gemma.h"

ms_decoder_style ms_gemma2_style(const ms_model_config *config)
{
    ms_decoder_style style = ms_gemma_style(config);
    style.norms[0] = (ms_norm_row){"input_layernorm", MS_NORM_BEFORE_ATTENTION};
    style.norms[1] = (ms_norm_row){"post_attention_layernorm", MS_NORM_AFTER_ATTENTION};
    style.norms[2] = (ms_norm_row){"pre_feedforward_layernorm", MS_NORM_BEFORE_MLP};
    style.norms[3] = (ms_norm_row){"post_feedforward_layernorm", MS_NORM_AFTER_MLP};
    style.mask_arguments = style.both_masks = true;
    return style;
}
