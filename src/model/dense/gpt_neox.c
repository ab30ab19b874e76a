/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GPT-NeoX and Pythia: layer norms, query, key and value in one product, attention and MLP in
 * parallel, a quarter of each head rotated.
 */
#include "model/blocks/cache.h"
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_layer.h"
#include "model/decoder/decoder_mlp.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "torch/ops/ops.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 50432, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 6144, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 24576, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 44, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 64, MAX_HEADS),
    COUNT("max_position_embeddings", max_positions, 2048, MAX_POSITIONS),
    ROTARY_SHARE("rotary_pct", 0.25),
    ACTIVATION("hidden_act", MS_ACTIVATION_GELU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("attention_bias", attention_bias, true),
    BOOL("use_parallel_residual", parallel_residual, true),
    FRACTION("attention_dropout", attention_dropout, 0),
    FRACTION("hidden_dropout", residual_dropout, 0),
    PAD_TOKEN,
    IGNORED("classifier_dropout"),
    IGNORED("layer_norm_eps"),
    IGNORED("rotary_emb_base"),
    IGNORED("is_decoder"),
    DECODER_IGNORED,
};
/* clang-format on */

typedef struct attention {
    uint32_t scope;
    ms_linear_module query_key_value, dense;
} attention;

/* ---- construction ---- */

static void *build_attention(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)d;
    (void)number;
    ms_symbols *s = &model->tape->trace->symbols;
    attention *a = ms_arena_array(model->arena, attention, 1);
    if (!a)
        return NULL;
    ms_dim hidden = model->hidden, fused = ms_dim_mul(s, ms_dim_number(s, 3), hidden);
    bool bias = model->config->attention_bias;
    a->scope = ms_scope_add(model->tape, parent, "attention", MS_NONE);
    a->query_key_value = ms_linear_new(model, a->scope, "query_key_value", hidden, fused, bias);
    a->dense = ms_linear_new(model, a->scope, "dense", hidden, hidden, bias);
    return a;
}

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)d;
    (void)number;
    return ms_plain_mlp_new(model, parent, "dense_h_to_4h", "dense_4h_to_h", true);
}

/* ---- forward ---- */

static ms_tensor attend(ms_model *model, ms_decoder *d, const ms_decoder_layer *layer, ms_tensor x,
                        ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const attention *a = layer->attention;
    ms_symbols *s = &tape->trace->symbols;
    uint32_t previous = ms_scope_enter(tape, a->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_dim three_heads = ms_dim_mul(s, ms_dim_number(s, 3), model->head_dim);
    ms_shape shape = MS_SHAPE(model->batch, model->seq, model->heads, three_heads);
    ms_tensor fused = ms_linear_call(model, &a->query_key_value, *hidden);
    ms_tensor *qkv = ms_local(&f, ms_transpose(tape, ms_view(tape, fused, shape), 1, 2));
    ms_tensor parts[3];
    ms_split(tape, *qkv, 3, model->head_dim, 3, parts);
    ms_tensor *query = ms_local(&f, parts[0]);
    ms_tensor *key = ms_local(&f, parts[1]);
    ms_tensor *value = ms_local(&f, parts[2]);
    ms_apply_rotary(model, &f, layer, query, key);
    ms_cache_append(model, &f, layer->number, key, value);
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
    bool parallel = model->config->parallel_residual;
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor *attn_output = ms_local(&f, 0);
    ms_tensor normed = ms_norm_at(model, l, MS_NORM_BEFORE_ATTENTION, *hidden);
    ms_assign(&f, attn_output, ms_layer_attention(model, l, &f, normed));
    ms_assign(&f, attn_output, ms_dropout(tape, *attn_output, dropout));
    if (!parallel)
        ms_assign(&f, attn_output, ms_add(tape, *attn_output, *hidden));
    normed = ms_norm_at(model, l, MS_NORM_BEFORE_MLP, parallel ? *hidden : *attn_output);
    ms_tensor *mlp_output = ms_local(&f, ms_layer_mlp(model, l, normed));
    ms_assign(&f, mlp_output, ms_dropout(tape, *mlp_output, dropout));
    ms_tensor sum = ms_add(tape, *mlp_output, *attn_output);
    ms_assign(&f, hidden, parallel ? ms_add(tape, sum, *hidden) : sum);
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static bool build(ms_model *model)
{
    return ms_decoder_build(model,
                            (ms_decoder_style){.norms_first = true,
                                               .run_layer = run_layer,
                                               .build_attention = build_attention,
                                               .attention = attend,
                                               .rotary = ms_rotary_part,
                                               .build_mlp = build_mlp,
                                               .mlp = ms_plain_mlp,
                                               .norm = ms_layer_norm_call,
                                               .norm_bias = true,
                                               .position_ids_first = true,
                                               .embedding_dropout = model->config->residual_dropout,
                                               .root_name = "gpt_neox",
                                               .embedding_name = "embed_in",
                                               .norm_name = "final_layer_norm"});
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .peft = {.lora = {"query_key_value"},
             .ia3 = {"query_key_value", "dense_4h_to_h"},
             .ia3_inputs = {"dense_4h_to_h"}},
    .awq_differs = true,
};

const ms_family ms_family_gpt_neox = {.model_type = "gpt_neox",
                                      .facts = &facts,
                                      .classes = {{"GPTNeoXForCausalLM", MS_HEAD_CAUSAL_LM}},
                                      .keys = keys,
                                      .key_count = sizeof keys / sizeof *keys,
                                      .check = ms_check_heads_divide,
                                      .takes_cache = true,
                                      .program = &program};
