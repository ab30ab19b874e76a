/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Llama: the plain decoder; biases only if the config has them.
 */
#include "model/decoder/decoder.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 32000, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 11008, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 32, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    KV_HEADS_AS_HEADS,
    HEAD_DIM_FROM_HIDDEN,
    COUNT("max_position_embeddings", max_positions, 2048, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("attention_bias", attention_bias, false),
    BOOL("mlp_bias", mlp_bias, false),
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    IGNORED("pretraining_tp"),
    DECODER_IGNORED,
};
/* clang-format on */

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.qkv_bias = model->config->attention_bias,
                                                      .output_bias = model->config->attention_bias,
                                                      .mlp_bias = model->config->mlp_bias});
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
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
    .vllm = &(const ms_vllm_arch){.qkv_bias = MS_VLLM_BIAS_ASKED,
                                  .out_bias = MS_VLLM_BIAS_ASKED,
                                  .norms = 2,
                                  .mlp_rows = 3,
                                  .tie = MS_VLLM_TIE_DROPS},
};

const ms_family ms_family_llama = {
    .model_type = "llama",
    .facts = &facts,
    .classes = {{"LlamaForCausalLM", MS_HEAD_CAUSAL_LM},
                {"LlamaForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .check = ms_check_heads_divide,
    .takes_cache = true,
    .program = &program};
