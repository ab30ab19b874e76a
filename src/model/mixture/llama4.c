/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Llama 4: families/llama4_text.family and llama4.family have keys, modules and calls of the text
 * model, alone and with a vision tower.
 */
#include "model/family/family_keys.h"
#include "model/family/family_list.h"

const ms_family ms_family_llama4_text = {.model_type = "llama4_text",
                                         .classes = {{"Llama4ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                         .check = ms_check_experts,
                                         .has_chunks = true,
                                         .grouped_experts_only = true,
                                         .batched_experts_only = true,
                                         .has_linear_router = true,
                                         .takes_cache = true,
                                         .unpredicted = MS_UNPREDICTED_PADDING,
                                         .text_name = "llama4_text"};

/* ---- with a vision tower ---- */

/* clang-format off */
static const ms_key vision_keys[] = {
    COUNT("hidden_size", vision.hidden_size, 768, MAX_HIDDEN),
    COUNT("intermediate_size", vision.intermediate_size, 5632, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", vision.num_layers, 34, MAX_LAYERS),
    COUNT("num_attention_heads", vision.num_heads, 16, MAX_HEADS),
    COUNT("num_channels", vision.channels, 3, MAX_HEADS),
    COUNT("image_size", vision.image_size, 448, MAX_HIDDEN),
    COUNT("patch_size", vision.patch_size, 14, MAX_HEADS),
    COUNT("vision_output_dim", vision.out_size, 7680, MAX_HIDDEN),
    COUNT("projector_input_dim", vision.projector_in, 4096, MAX_HIDDEN),
    COUNT("projector_output_dim", vision.projector_out, 4096, MAX_HIDDEN),
    FIXED("multi_modal_projector_bias", false),
};
/* clang-format on */

static const ms_key_table more[] = {
    {"vision_config", "llama4_vision_model", vision_keys, sizeof vision_keys / sizeof *vision_keys},
};

static const ms_family_facts llama4_facts = {
    .peft = {.lora = {"q_proj", "v_proj"},
             .ia3 = {"q_proj", "v_proj", "down_proj"},
             .ia3_inputs = {"down_proj"}},
};

const ms_family ms_family_llama4 = {
    .model_type = "llama4",
    .facts = &llama4_facts,
    .classes = {{"Llama4ForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .object = "text_config",
    .object_type = "llama4_text",
    .more = more,
    .more_count = sizeof more / sizeof *more,
    .check = ms_check_experts,
    .has_chunks = true,
    .grouped_experts_only = true,
    .batched_experts_only = true,
    .has_linear_router = true,
    .takes_cache = true,
    .unpredicted = MS_UNPREDICTED_PADDING,
    .text_name = "llama4"};
