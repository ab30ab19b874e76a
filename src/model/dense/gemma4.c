/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 4: families/gemma4_text.family has keys, modules and calls of its text model,
 * families/gemma4.family those of the larger models, with towers for pictures and sounds.
 */
#include "input/config/model/family.h"
#include "model/dense/sharing.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"
#include "model/vision/gemma4_image.h"

static ms_status refuse(ms_error *err, const char *key, const char *reason)
{
    snprintf(err->pointer, sizeof err->pointer, "/%s", key);
    return ms_fail(err, MS_ERR_CONFIG, "%s", reason);
}

/* num_global_key_value_heads has an effect only where keys are the values, and the keys of experts
 * where enable_moe_block is set. */
static ms_status derive(ms_model_config *config, ms_error *err)
{
    if (!config->keys_are_values)
        config->wide_kv_heads = 0;
    if (!config->has_experts)
        config->num_experts = config->experts_per_token = config->expert_size = 0;
    else if (!config->num_experts || !config->experts_per_token || !config->expert_size)
        return refuse(err, "enable_moe_block",
                      "it needs num_experts, top_k_experts and moe_intermediate_size");
    return MS_OK;
}

static ms_status check(const ms_model_config *config, ms_error *err)
{
    if (config->sees_all)
        return refuse(err, "use_bidirectional_attention",
                      "attention in both directions is not supported");
    if (config->wide_head_dim % 2)
        return refuse(err, "global_head_dim", "an odd number; rotary embeddings rotate pairs");
    if (config->wide_kv_heads && config->num_heads % config->wide_kv_heads)
        return refuse(err, "num_global_key_value_heads", "it does not divide num_attention_heads");
    if (config->experts_per_token > config->num_experts)
        return refuse(err, "top_k_experts", "more experts per token than there are");
    return ms_check_sharing(config, err);
}

static const ms_family_facts gemma4_text_facts = {
    .compared = MS_WITH_ZERO3 | MS_WITH_CHUNKED_LOSS,
};

const ms_family ms_family_gemma4_text = {.model_type = "gemma4_text",
                                         .facts = &gemma4_text_facts,
                                         .classes = {{"Gemma4ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                         .derive = derive,
                                         .check = check,
                                         .ends_unlimited = true,
                                         .takes_cache = true,
                                         .unpredicted = MS_UNPREDICTED_DOCUMENTS |
                                                        MS_UNPREDICTED_HOST_PARAMETERS,
                                         .text_name = "gemma4_text"};

/* ---- with towers for pictures and sounds ---- */

/* 128 and 32 channels, if the file says nothing. */
static ms_status derive_whole(ms_model_config *config, ms_error *err)
{
    uint64_t *channels = config->audio.channels;
    if (config->audio.hidden_size && !channels[0]) {
        channels[0] = 128;
        channels[1] = 32;
    }
    return derive(config, err);
}

static ms_status check_whole(const ms_model_config *config, ms_error *err)
{
    const ms_audio_config *audio = &config->audio;
    if (config->pad_token_id == UINT64_MAX)
        return refuse(err, "pad_token_id",
                      "null: the framework's class takes the padding token's embedding");
    if (audio->hidden_size && audio->num_heads > audio->hidden_size)
        return ms_fail(err, MS_ERR_CONFIG, "the audio tower has more heads than elements");
    return check(config, err);
}

static const ms_family_facts gemma4_facts = {
    .peft = {.lora_pattern = ".*language_model\\..*\\.(q_proj|v_proj)"},
};

const ms_family ms_family_gemma4 = {
    .model_type = "gemma4",
    .facts = &gemma4_facts,
    .classes = {{"Gemma4ForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .may_lack_more = true,
    .scales_logits = true,
    .derive = derive_whole,
    .check = check_whole,
    .ends_unlimited = true,
    .place_image = ms_gemma4_place_image,
    .image_input = MS_IMAGES_PADDED,
    .unpredicted = MS_UNPREDICTED_DOCUMENTS | MS_UNPREDICTED_HOST_PARAMETERS |
                   MS_UNPREDICTED_RANKS | MS_UNPREDICTED_OTHER_PACKED,
    .text_name = "gemma4"};
