/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * StableLM: layer norms, part of each head rotated, attention and MLP sequential or in parallel.
 */
#include "model/blocks/cache.h"
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_layer.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "torch/ops/ops.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 50304, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 2560, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 6912, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 32, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 32, MAX_HEADS),
    COUNT("max_position_embeddings", max_positions, 4096, MAX_POSITIONS),
    ROTARY_SHARE("partial_rotary_factor", 0.25),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("use_qkv_bias", attention_bias, false),
    BOOL("use_parallel_residual", parallel_residual, false),
    FRACTION("hidden_dropout", residual_dropout, 0),
    FRACTION("attention_dropout", attention_dropout, 0),
    FIXED("qk_layernorm", false),
    PAD_TOKEN,
    IGNORED("layer_norm_eps"),
    DECODER_IGNORED,
};
/* clang-format on */

static void *build_attention(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)number;
    ms_projections *p = ms_arena_array(model->arena, ms_projections, 1);
    if (p)
        *p = ms_projections_new(model, d, parent);
    return p;
}

static ms_tensor attend(ms_model *model, ms_decoder *d, const ms_decoder_layer *layer, ms_tensor x,
                        ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const ms_projections *p = layer->attention;
    uint32_t previous = ms_scope_enter(tape, p->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *query = ms_local(&f, ms_linear_call(model, &p->q_proj, *hidden));
    ms_tensor *key = ms_local(&f, ms_linear_call(model, &p->k_proj, *hidden));
    ms_tensor *value = ms_local(&f, ms_linear_call(model, &p->v_proj, *hidden));
    ms_split_heads(model, &f, query, key, value);
    ms_apply_rotary_around(model, &f, layer, query, key);
    ms_cache_append(model, &f, layer->number, key, value);
    ms_tensor result = ms_attend_and_project(model, &f, layer, (ms_tensor[]){*query, *key, *value},
                                             d->full_mask, &p->o_proj, weights);
    tape->scope = previous;
    return result;
}

static ms_tensor run_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    const ms_decoder *d = model->modules;
    const ms_decoder_layer *l = &d->layers[number];
    double dropout = model->config->residual_dropout;
    bool parallel = model->config->parallel_residual;
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor *residual = ms_local(&f, *hidden);
    ms_assign(&f, hidden, ms_norm_at(model, l, MS_NORM_BEFORE_ATTENTION, *hidden));
    ms_tensor *attn_output = ms_local(&f, 0);
    ms_assign(&f, attn_output, ms_layer_attention(model, l, &f, *hidden));
    if (!parallel)
        ms_assign(&f, residual, ms_add(tape, *residual, *attn_output));
    ms_tensor normed = parallel ? *hidden : ms_norm_at(model, l, MS_NORM_BEFORE_MLP, *residual);
    ms_tensor *mlp_output = ms_local(&f, ms_layer_mlp(model, l, normed));
    ms_assign(&f, mlp_output, ms_dropout(tape, *mlp_output, dropout));
    ms_tensor sum = parallel ? ms_add(tape, *residual, *attn_output) : *residual;
    ms_assign(&f, hidden, ms_add(tape, sum, *mlp_output));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static bool build(ms_model *model)
{
    ms_decoder_style style = {.run_layer = run_layer,
                              .build_attention = build_attention,
                              .attention = attend,
                              .norm = ms_layer_norm_call,
                              .norm_bias = true,
                              .qkv_bias = model->config->attention_bias,
                              .position_ids_first = true};
    if (model->config->parallel_residual)
        style.norms[0] = (ms_norm_row){"input_layernorm", MS_NORM_BEFORE_ATTENTION};
    return ms_decoder_build(model, style);
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .compared = MS_WITH_ACCELERATE_UNITS | MS_WITH_TITAN_UNITS | MS_WITH_CONTEXT |
                MS_WITH_PIPELINE | MS_WITH_CHUNKED_LOSS,
    .peft = {.lora = {"q_proj", "v_proj"}},
};

const ms_family ms_family_stablelm = {.model_type = "stablelm",
                                      .facts = &facts,
                                      .classes = {{"StableLmForCausalLM", MS_HEAD_CAUSAL_LM}},
                                      .keys = keys,
                                      .key_count = sizeof keys / sizeof *keys,
                                      .check = ms_check_heads_divide,
                                      .cuts_by_share = true,
                                      .takes_cache = true,
                                      .program = &program};
