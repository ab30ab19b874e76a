/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Phi-1, 1.5 and 2: layer norms, attention and MLP side by side behind one of them, a part of each
 * head turned, biases everywhere.
 */
#include "model/decoder.h"
#include "model/families.h"
#include "model/family_keys.h"
#include "ops/ops.h"

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

typedef struct attention {
    uint32_t scope;
    ms_linear_module q_proj, k_proj, v_proj, dense;
    ms_norm_module q_layernorm, k_layernorm;
} attention;

static void *build_attention(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)d;
    (void)number;
    ms_symbols *s = &model->tape->trace->symbols;
    attention *a = ms_arena_array(model->arena, attention, 1);
    if (!a)
        return NULL;
    ms_dim hidden = model->hidden, q = ms_dim_mul(s, model->heads, model->head_dim);
    ms_dim kv = ms_dim_mul(s, model->kv_heads, model->head_dim);
    uint32_t scope = a->scope = ms_scope_add(model->tape, parent, "self_attn", MS_NONE);
    a->q_proj = ms_linear_new(model, scope, "q_proj", hidden, q, true);
    a->k_proj = ms_linear_new(model, scope, "k_proj", hidden, kv, true);
    a->v_proj = ms_linear_new(model, scope, "v_proj", hidden, kv, true);
    a->dense = ms_linear_new(model, scope, "dense", q, hidden, true);
    if (model->config->head_norms) {
        a->q_layernorm = ms_norm_new(model, scope, "q_layernorm", model->head_dim, true);
        a->k_layernorm = ms_norm_new(model, scope, "k_layernorm", model->head_dim, true);
    }
    return a;
}

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)d;
    (void)number;
    return ms_plain_mlp_new(model, parent, "fc1", "fc2", true);
}

static ms_tensor attend(ms_model *model, ms_decoder *d, const ms_decoder_layer *layer, ms_tensor x,
                        ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const attention *a = layer->attention;
    uint32_t previous = ms_scope_enter(tape, a->scope);
    ms_frame f = ms_frame_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor q = ms_linear_call(model, &a->q_proj, *hidden);
    ms_tensor *query = ms_local(&f, ms_as_heads(model, q, model->heads));
    ms_tensor k = ms_linear_call(model, &a->k_proj, *hidden);
    ms_tensor *key = ms_local(&f, ms_as_heads(model, k, model->kv_heads));
    ms_tensor v = ms_linear_call(model, &a->v_proj, *hidden);
    ms_tensor *value = ms_local(&f, ms_as_heads(model, v, model->kv_heads));
    if (model->config->head_norms) {
        ms_assign(&f, query, ms_layer_norm_call(model, &a->q_layernorm, *query));
        ms_assign(&f, key, ms_layer_norm_call(model, &a->k_layernorm, *key));
    }
    ms_rotary_around(model, &f, query, key, d->rotary[0].cos, d->rotary[0].sin);
    ms_tensor result = ms_attend_and_project(model, &f, layer, (ms_tensor[]){*query, *key, *value},
                                             d->full_mask, &a->dense, weights);
    tape->scope = previous;
    return result;
}

static ms_tensor run_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    const ms_decoder *d = model->modules;
    const ms_decoder_layer *l = &d->layers[number];
    double dropout = model->config->residual_dropout;
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_frame f = ms_frame_begin(tape);
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
    ms_tensor result = ms_frame_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static bool build(ms_model *model)
{
    return ms_decoder_build(
        model, (ms_decoder_style){.norms = {{"input_layernorm", MS_NORM_BEFORE_ATTENTION}},
                                  .run_layer = run_layer,
                                  .build_attention = build_attention,
                                  .attention = attend,
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

const ms_family ms_family_phi = {.model_type = "phi",
                                 .classes = {{"PhiForCausalLM", MS_HEAD_CAUSAL_LM}},
                                 .keys = keys,
                                 .key_count = sizeof keys / sizeof *keys,
                                 .check = ms_check_heads_divide,
                                 .program = &program};
