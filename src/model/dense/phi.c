/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Phi-1, 1.5 and 2: layer norms, attention and MLP in parallel after one of them, part of each head
 * rotated, biases everywhere.
 */
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_layer.h"
#include "model/decoder/decoder_mlp.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "torch/ops/ops.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 51200, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 2048, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 8192, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 24, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    KV_HEADS_AS_HEADS,
    COUNT("max_position_embeddings", max_positions, 2048, MAX_POSITIONS),
    ROTARY_SHARE("partial_rotary_factor", 0.5),
    ACTIVATION("hidden_act", MS_ACTIVATION_GELU_NEW),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("qk_layernorm", head_norms, false),
    FRACTION("resid_pdrop", residual_dropout, 0),
    FRACTION("embd_pdrop", embedding_dropout, 0),
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    IGNORED("layer_norm_eps"),
    DECODER_IGNORED,
};
/* clang-format on */

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)d;
    (void)number;
    return ms_plain_mlp_new(model, parent, "fc1", "fc2", true);
}

static ms_tensor run_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    const ms_decoder *d = model->modules;
    const ms_decoder_layer *l = &d->layers[number];
    double dropout = model->config->residual_dropout;
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor *residual = ms_local(&f, *hidden);
    ms_assign(&f, hidden, ms_norm_at(model, l, MS_NORM_BEFORE_ATTENTION, *hidden));
    ms_tensor *attn_outputs = ms_local(&f, 0);
    ms_assign(&f, attn_outputs, ms_layer_attention(model, l, &f, *hidden));
    ms_assign(&f, attn_outputs, ms_dropout(tape, *attn_outputs, dropout));
    ms_tensor *feed_forward =
        ms_local(&f, ms_dropout(tape, ms_layer_mlp(model, l, *hidden), dropout));
    ms_tensor sum = ms_add(tape, *attn_outputs, *feed_forward);
    ms_assign(&f, hidden, ms_add(tape, sum, *residual));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static bool build(ms_model *model)
{
    return ms_decoder_build(
        model, (ms_decoder_style){.norms = {{"input_layernorm", MS_NORM_BEFORE_ATTENTION}},
                                  .run_layer = run_layer,
                                  .apply_rotary = ms_apply_rotary_around,
                                  .qkv_bias = true,
                                  .output_bias = true,
                                  .head_norms = model->config->head_norms ? MS_HEAD_NORMS_LAST
                                                                          : MS_HEAD_NORMS_NONE,
                                  .output_name = "dense",
                                  .query_norm_name = "q_layernorm",
                                  .key_norm_name = "k_layernorm",
                                  .build_mlp = build_mlp,
                                  .mlp = ms_plain_mlp,
                                  .norm = ms_layer_norm_call,
                                  .norm_bias = true,
                                  .head_bias = true,
                                  .rotary_before_norm = true,
                                  .position_ids_first = true,
                                  .embedding_dropout = model->config->embedding_dropout,
                                  .rebinds_embedding = true,
                                  .norm_name = "final_layernorm"});
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .peft = {.lora = {"q_proj", "v_proj", "fc1", "fc2"},
             .ia3 = {"q_proj", "v_proj", "fc2"},
             .ia3_inputs = {"fc2"}},
};

const ms_family ms_family_phi = {.model_type = "phi",
                                 .facts = &facts,
                                 .classes = {{"PhiForCausalLM", MS_HEAD_CAUSAL_LM}},
                                 .keys = keys,
                                 .key_count = sizeof keys / sizeof *keys,
                                 .check = ms_check_heads_divide,
                                 .cuts_by_share = true,
                                 .takes_cache = true,
                                 .program = &program};
