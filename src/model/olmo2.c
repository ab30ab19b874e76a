/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * OLMo 2: norms behind attention and MLP and over the whole query and key, and weights that scale
 * in fp32.
 */
#include "model/decoder.h"
#include "model/families.h"
#include "model/family_keys.h"
#include "ops/ops.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 50304, MAX_VOCAB),
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
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN_OR(1),
    DECODER_IGNORED,
};
/* clang-format on */

typedef struct attention {
    ms_projections proj;
    ms_norm_module q_norm, k_norm;
} attention;

static void *build_attention(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)number;
    ms_symbols *s = &model->tape->trace->symbols;
    attention *a = ms_arena_array(model->arena, attention, 1);
    if (!a)
        return NULL;
    ms_dim q = ms_dim_mul(s, model->heads, model->head_dim);
    ms_dim kv = ms_dim_mul(s, model->kv_heads, model->head_dim);
    a->proj = ms_projections_new(model, d, parent);
    a->q_norm = ms_norm_new(model, a->proj.scope, "q_norm", q, false);
    a->k_norm = ms_norm_new(model, a->proj.scope, "k_norm", kv, false);
    return a;
}

static ms_tensor attend(ms_model *model, ms_decoder *d, const ms_decoder_layer *layer, ms_tensor x,
                        ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const attention *a = layer->attention;
    const ms_projections *p = &a->proj;
    uint32_t previous = ms_scope_enter(tape, p->scope);
    ms_frame f = ms_frame_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *query = ms_local(
        &f, ms_fp32_rms_norm_call(model, &a->q_norm, ms_linear_call(model, &p->q_proj, *hidden)));
    ms_tensor *key = ms_local(
        &f, ms_fp32_rms_norm_call(model, &a->k_norm, ms_linear_call(model, &p->k_proj, *hidden)));
    ms_tensor *value = ms_local(&f, ms_linear_call(model, &p->v_proj, *hidden));
    ms_split_heads(model, &f, query, key, value);
    ms_turn(model, &f, layer, query, key);
    ms_tensor result = ms_attend_and_project(model, &f, layer, (ms_tensor[]){*query, *key, *value},
                                             d->full_mask, &p->o_proj, weights);
    tape->scope = previous;
    return result;
}

static bool build(ms_model *model)
{
    return ms_decoder_build(
        model, (ms_decoder_style){.norms = {{"post_attention_layernorm", MS_NORM_AFTER_ATTENTION},
                                            {"post_feedforward_layernorm", MS_NORM_AFTER_MLP}},
                                  .qkv_bias = model->config->attention_bias,
                                  .output_bias = model->config->attention_bias,
                                  .build_attention = build_attention,
                                  .attention = attend,
                                  .rotary = ms_rotary_whole_cast,
                                  .norm = ms_fp32_rms_norm_call,
                                  .fp32_rotary = true});
}

static const ms_model_program program = {build, ms_decoder_forward};

const ms_family ms_family_olmo2 = {.model_type = "olmo2",
                                   .classes = {{"Olmo2ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                   .keys = keys,
                                   .key_count = sizeof keys / sizeof *keys,
                                   .check = ms_check_heads_divide,
                                   .program = &program};
