/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 2: four norms in a layer, every other layer slides, scores of attention and logits are
 * capped. Because of the cap the framework has eager attention alone.
 */
#include "model/families.h"
#include "model/family_keys.h"
#include "model/gemma.h"
#include "ops/ops.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 256000, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 2304, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 9216, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 26, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 8, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 4, MAX_HEADS),
    COUNT("head_dim", head_dim, 256, MAX_HEAD_DIM),
    COUNT("max_position_embeddings", max_positions, 8192, MAX_POSITIONS),
    ACTIVATION("hidden_activation", MS_ACTIVATION_GELU_TANH),
    BOOL("tie_word_embeddings", tie_word_embeddings, true),
    BOOL("attention_bias", attention_bias, false),
    COUNT("sliding_window", sliding_window, 4096, MAX_POSITIONS),
    LAYER_TYPES,
    FRACTION("attention_dropout", attention_dropout, 0),
    IS_SET("attn_logit_softcapping", caps_scores, true),
    IS_SET("final_logit_softcapping", caps_logits, true),
    FIXED("use_bidirectional_attention", false),
    PAD_TOKEN,
    IGNORED("query_pre_attn_scalar"),
    IGNORED("hidden_act"), /* files have both spellings; the class reads the other */
    DECODER_IGNORED,
};
/* clang-format on */

/* ---- layer ---- */

typedef struct four_norms {
    ms_norm_module input, post_attention, pre_feedforward, post_feedforward;
} four_norms;

bool ms_gemma2_layer_new(ms_model *model, const ms_decoder *d, ms_decoder_layer *layer)
{
    four_norms *norms = ms_arena_array(model->arena, four_norms, 1);
    if (!norms)
        return false;
    uint32_t scope = layer->scope;
    ms_dim width = model->hidden;
    layer->attention = d->style.build_attention(model, d, scope, layer->number);
    layer->mlp = d->style.build_mlp(model, d, scope, layer->number);
    layer->norms = norms;
    norms->input = ms_norm_new(model, scope, "input_layernorm", width, false);
    norms->post_attention = ms_norm_new(model, scope, "post_attention_layernorm", width, false);
    norms->pre_feedforward = ms_norm_new(model, scope, "pre_feedforward_layernorm", width, false);
    norms->post_feedforward = ms_norm_new(model, scope, "post_feedforward_layernorm", width, false);
    return layer->attention && layer->mlp;
}

ms_tensor ms_gemma2_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    const ms_decoder *d = model->modules;
    const ms_decoder_layer *l = &d->layers[number];
    const four_norms *norms = l->norms;
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_frame f = ms_frame_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor *residual = ms_local(&f, *hidden);
    ms_assign(&f, hidden, d->style.norm(model, &norms->input, *hidden));
    ms_assign(&f, hidden, ms_layer_attention(model, l, &f, *hidden));
    ms_assign(&f, hidden, d->style.norm(model, &norms->post_attention, *hidden));
    ms_assign(&f, hidden, ms_add(tape, *residual, *hidden));
    ms_assign(&f, residual, *hidden);
    ms_assign(&f, hidden, d->style.norm(model, &norms->pre_feedforward, *hidden));
    ms_assign(&f, hidden, ms_layer_mlp(model, l, *hidden));
    ms_assign(&f, hidden, d->style.norm(model, &norms->post_feedforward, *hidden));
    ms_assign(&f, hidden, ms_add(tape, *residual, *hidden));
    ms_tensor result = ms_frame_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* ---- family ---- */

static uint8_t layer_kind(const ms_model_config *config, uint64_t layer)
{
    (void)config;
    return layer % 2 == 0 ? MS_LAYER_SLIDES : 0;
}

static bool build(ms_model *model)
{
    ms_decoder_style style = ms_gemma_style(model->config);
    style.build_layer = ms_gemma2_layer_new;
    style.run_layer = ms_gemma2_layer;
    style.mask_arguments = style.both_masks = true;
    return ms_decoder_build(model, style);
}

static const ms_model_program program = {build, ms_decoder_forward};

const ms_family ms_family_gemma2 = {.model_type = "gemma2",
                                    .classes = {{"Gemma2ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                    .keys = keys,
                                    .key_count = sizeof keys / sizeof *keys,
                                    .check = ms_check_heads_divide,
                                    .layer_kind = layer_kind,
                                    .eager_only = true,
                                    .program = &program};
