/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 3: families/gemma3_text.family has keys, modules and calls of its text model,
 * families/gemma3.family those of the larger models, with a vision tower.
 */
#include "input/config/model/family.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "model/vision/gemma3_image.h"

/* ---- with a vision tower ---- */

static ms_status check_whole(const ms_model_config *config, ms_error *err)
{
    if (config->image_token_id < config->vocab_size)
        return ms_check_heads_divide(config, err);
    snprintf(err->pointer, sizeof err->pointer, "/vocab_size");
    return ms_fail(err, MS_ERR_CONFIG,
                   "an image token of %" PRIu64 " beyond the vocabulary of %" PRIu64
                   " is not supported",
                   config->image_token_id, config->vocab_size);
}

static const ms_family_facts gemma3_facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .has_head_norms = true,
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST | MS_LIGER_IS_HEADS,
              .copying_norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST | MS_LIGER_IS_HEADS,
              .logits_share = 1},
    .llama_cpp = "gemma3",
};

const ms_family ms_family_gemma3 = {
    .model_type = "gemma3",
    .facts = &gemma3_facts,
    .classes = {{"Gemma3ForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .check = check_whole,
    .place_image = ms_gemma3_place_image,
    .image_input = MS_IMAGES_WITH_KINDS,
    .unpredicted = MS_UNPREDICTED_IMAGES_ON_RANKS,
    .text_name = "gemma3"};
