/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mistral: families/mistral.family has its keys, modules and calls. Ministral 3 scales queries by
 * their position.
 */
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_layer.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "torch/ops/ops.h"

/* clang-format off */
static const ms_key ministral3_keys[] = {
    COUNT("vocab_size", vocab_size, 131072, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 14336, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 34, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 8, MAX_HEADS),
    COUNT("head_dim", head_dim, 128, MAX_HEAD_DIM),
    COUNT("max_position_embeddings", max_positions, 262144, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    NO_SLIDING_WINDOW,
    IGNORED("layer_types"), /* the class warns, and reads the window alone */
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN_OR(11),
    DECODER_IGNORED,
};
/* clang-format on */

/* 1 + beta * log(1 + floor(positions / original length)), as [1, 1, S, 1] */
static ms_tensor query_scale(ms_model *model, ms_tensor position_ids)
{
    ms_tape *tape = model->tape;
    ms_tensor length = ms_floor(tape, ms_to(tape, position_ids, MS_DTYPE_F32));
    ms_tensor log = ms_mul_scalar(tape, ms_log(tape, ms_add_scalar(tape, length)));
    return ms_unsqueeze(tape, ms_unsqueeze(tape, ms_add_scalar(tape, log), 1), 3);
}

static void turn_and_scale(ms_model *model, ms_locals *f, const ms_decoder_layer *layer,
                           ms_tensor *query, ms_tensor *key)
{
    ms_tape *tape = model->tape;
    const ms_decoder *d = model->modules;
    ms_apply_rotary(model, f, layer, query, key);
    if (ms_idle(tape) || !*query)
        return;
    ms_dtype dtype = (ms_dtype)ms_info(tape, *query)->dtype;
    ms_tensor scale = ms_to(tape, query_scale(model, d->position_ids), dtype);
    ms_assign(f, query, ms_mul(tape, *query, scale));
}

static bool build_ministral3(ms_model *model)
{
    return ms_decoder_build(
        model, (ms_decoder_style){.apply_rotary = turn_and_scale, .position_ids_first = true});
}

static const ms_model_program ministral3_program = {build_ministral3, ms_decoder_forward};

static const ms_family_facts mistral_facts = {
    .blocks = MS_BLOCKS_OF_LLAMA,
    .compared = MS_WITH_ZERO3_LORA | MS_WITH_BROADCAST | MS_WITH_CHUNKED_LOSS,
    .has_seven_matrices = true,
    .peft = {.lora = {"q_proj", "v_proj"},
             .ia3 = {"k_proj", "v_proj", "down_proj"},
             .ia3_inputs = {"down_proj"}},
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .logits_share = 1},
    .llama_cpp = "llama",
    .vllm = &(const ms_vllm_arch){.norms = 2, .mlp_rows = 3, .tie = MS_VLLM_TIE_DROPS},
};

const ms_family ms_family_mistral = {
    .model_type = "mistral",
    .facts = &mistral_facts,
    .classes = {{"MistralForCausalLM", MS_HEAD_CAUSAL_LM},
                {"MistralForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .takes_cache = true,
    .text_name = "mistral"};

static const ms_family_facts ministral3_facts = {
    .compared = MS_WITH_ACCELERATE_UNITS | MS_WITH_TITAN_UNITS | MS_WITH_ZERO3 | MS_WITH_CONTEXT |
                MS_WITH_CHUNKED_LOSS,
};

const ms_family ms_family_ministral3 = {
    .model_type = "ministral3",
    .facts = &ministral3_facts,
    .classes = {{"Ministral3ForCausalLM", MS_HEAD_CAUSAL_LM},
                {"Ministral3ForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .keys = ministral3_keys,
    .key_count = sizeof ministral3_keys / sizeof *ministral3_keys,
    .takes_cache = true,
    .program = &ministral3_program};
