/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GLM-4: four norms a layer, gate and up in one product, half of each head turned by pairs.
 */
#include "model/decoder.h"
#include "model/families.h"
#include "model/family_keys.h"
#include "ops/ops.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 151552, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 13696, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 40, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 2, MAX_HEADS),
    COUNT("head_dim", head_dim, 128, MAX_HEAD_DIM),
    COUNT("max_position_embeddings", max_positions, 131072, MAX_POSITIONS),
    ROTARY_SHARE("partial_rotary_factor", 0.5),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("attention_bias", attention_bias, true),
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN_OR(151329),
    DECODER_IGNORED,
};
/* clang-format on */

typedef struct norms {
    ms_norm_module input, post_attention, post_self_attn, post_mlp;
} norms;

static bool build_layer(ms_model *model, const ms_decoder *d, ms_decoder_layer *layer)
{
    norms *n = ms_arena_array(model->arena, norms, 1);
    if (!n)
        return false;
    uint32_t scope = layer->scope;
    ms_dim width = model->hidden;
    layer->norms = n;
    layer->attention = d->style.build_attention(model, d, scope, layer->number);
    layer->mlp = d->style.build_mlp(model, d, scope, layer->number);
    n->input = ms_norm_new(model, scope, "input_layernorm", width, false);
    n->post_attention = ms_norm_new(model, scope, "post_attention_layernorm", width, false);
    n->post_self_attn = ms_norm_new(model, scope, "post_self_attn_layernorm", width, false);
    n->post_mlp = ms_norm_new(model, scope, "post_mlp_layernorm", width, false);
    return layer->attention && layer->mlp;
}

static ms_tensor run_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    const ms_decoder *d = model->modules;
    const ms_decoder_layer *l = &d->layers[number];
    const norms *n = l->norms;
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_frame f = ms_frame_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor *residual = ms_local(&f, *hidden);
    ms_assign(&f, hidden, d->style.norm(model, &n->input, *hidden));
    ms_assign(&f, hidden, ms_layer_attention(model, l, &f, *hidden));
    ms_assign(&f, hidden, d->style.norm(model, &n->post_self_attn, *hidden));
    ms_assign(&f, hidden, ms_add(tape, *residual, *hidden));
    ms_assign(&f, residual, *hidden);
    ms_assign(&f, hidden, d->style.norm(model, &n->post_attention, *hidden));
    ms_assign(&f, hidden, ms_layer_mlp(model, l, *hidden));
    ms_assign(&f, hidden, d->style.norm(model, &n->post_mlp, *hidden));
    ms_assign(&f, hidden, ms_add(tape, *residual, *hidden));
    ms_tensor result = ms_frame_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.build_layer = build_layer,
                                                      .run_layer = run_layer,
                                                      .rotary = ms_rotary_pairs,
                                                      .build_mlp = ms_fused_mlp_new,
                                                      .mlp = ms_fused_mlp,
                                                      .qkv_bias = model->config->attention_bias});
}

static const ms_model_program program = {build, ms_decoder_forward};

const ms_family ms_family_glm4 = {.model_type = "glm4",
                                  .classes = {{"Glm4ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                  .keys = keys,
                                  .key_count = sizeof keys / sizeof *keys,
                                  .program = &program};
