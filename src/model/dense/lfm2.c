/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * LFM2: most layers have a short convolution between two gates instead of attention.
 */
#include "input/config/model/family.h"
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_layer.h"
#include "model/recurrent/state_cache.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "torch/ops/ops.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 65536, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 2560, MAX_HIDDEN),
    { .name = "intermediate_size", .aliases = {"block_ff_dim"}, .kind = MS_KEY_COUNT,
      .offset = MEMBER(intermediate_size), .default_value = 12288, .minimum = 1,
      .maximum = MAX_INTERMEDIATE },
    COUNT("num_hidden_layers", num_layers, 32, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 8, MAX_HEADS),
    HEAD_DIM_FROM_HIDDEN,
    COUNT("max_position_embeddings", max_positions, 128000, MAX_POSITIONS),
    COUNT("conv_L_cache", convolution_width, 3, MAX_HEAD_DIM),
    BOOL("conv_bias", convolution_bias, false),
    BOOL("block_auto_adjust_ff_dim", adjusts_intermediate, true),
    COUNT("block_multiple_of", intermediate_step, 256, MAX_INTERMEDIATE),
    FRACTION("block_ffn_dim_multiplier", intermediate_share, 1),
    { .name = "full_attn_idxs", .kind = MS_KEY_ATTENTION_LAYERS },
    { .name = "layer_types", .kind = MS_KEY_LAYER_TYPES, .choices = {"conv"} },
    { .name = "tie_word_embeddings", .aliases = {"tie_embedding"}, .kind = MS_KEY_BOOL,
      .offset = MEMBER(tie_word_embeddings), .default_value = true },
    PAD_TOKEN_OR(0),
    DECODER_IGNORED, IGNORED("norm_eps"), IGNORED("block_norm_eps"), IGNORED("block_use_swiglu"),
    IGNORED("block_use_xavier_init"), IGNORED("conv_use_xavier_init"),
};
/* clang-format on */

/* ---- convolution ---- */

typedef struct gated_convolution {
    uint32_t scope;
    ms_convolution_module convolution;
    ms_linear_module in_proj, out_proj;
} gated_convolution;

static void *convolution_new(ms_model *model, uint32_t parent)
{
    ms_symbols *s = &model->tape->trace->symbols;
    gated_convolution *m = ms_arena_array(model->arena, gated_convolution, 1);
    if (!m)
        return NULL;
    bool bias = model->config->convolution_bias;
    ms_dim width = ms_dim_number(s, model->config->convolution_width);
    ms_dim three = ms_dim_mul(s, ms_dim_number(s, 3), model->hidden);
    m->scope = ms_scope_add(model->tape, parent, "conv", MS_NONE);
    m->convolution = ms_convolution_new(model, m->scope, "conv", model->hidden, width, bias);
    m->in_proj = ms_linear_new(model, m->scope, "in_proj", model->hidden, three, bias);
    m->out_proj = ms_linear_new(model, m->scope, "out_proj", model->hidden, model->hidden, bias);
    return m;
}

static ms_tensor convolution(ms_model *model, const gated_convolution *m, ms_tensor x)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_tensor parts[3];
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *all =
        ms_local(&f, ms_transpose(tape, ms_linear_call(model, &m->in_proj, *hidden), 1, 2));
    ms_split(tape, *all, 1, model->hidden, 3, parts);
    ms_tensor *before = ms_local(&f, parts[0]);
    ms_tensor *behind = ms_local(&f, parts[1]);
    ms_tensor *value = ms_local(&f, parts[2]);
    ms_assign(&f, hidden, ms_mul(tape, *before, *value));
    ms_assign(&f, hidden,
              ms_convolution_call(model, &m->convolution, MS_ACTIVATION_COUNT, *hidden));
    ms_tensor *out = ms_local(&f, ms_mul(tape, *behind, *hidden));
    ms_assign(&f, out, ms_contiguous(tape, ms_transpose(tape, *out, 1, 2)));
    ms_assign(&f, out, ms_linear_call(model, &m->out_proj, *out));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

static void *build_attention(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    return ms_layer_is_token_mixer(model->config, number)
               ? convolution_new(model, parent)
               : ms_self_attention_new(model, d, parent, number);
}

static ms_tensor attend(ms_model *model, ms_decoder *d, const ms_decoder_layer *layer, ms_tensor x,
                        ms_tensor *weights)
{
    return ms_layer_is_token_mixer(model->config, layer->number)
               ? convolution(model, layer->attention, x)
               : ms_self_attention(model, d, layer, x, weights);
}

/* ---- MLP: w2(silu(w1(x)) * w3(x)) ---- */

typedef struct mlp_module {
    uint32_t scope;
    ms_linear_module w1, w3, w2;
} mlp_module;

/* int(share * int(2 * I / 3)), up to the next step */
static uint64_t mlp_width(const ms_model_config *c)
{
    if (!c->adjusts_intermediate)
        return c->intermediate_size;
    uint64_t third = 2 * c->intermediate_size / 3;
    uint64_t share = (uint64_t)(c->intermediate_share * (double)third);
    return (share + c->intermediate_step - 1) / c->intermediate_step * c->intermediate_step;
}

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)d, (void)number;
    mlp_module *m = ms_arena_array(model->arena, mlp_module, 1);
    if (!m)
        return NULL;
    ms_dim hidden = model->hidden;
    ms_dim middle = ms_dim_name(&model->tape->trace->symbols, "F", mlp_width(model->config));
    m->scope = ms_scope_add(model->tape, parent, "feed_forward", MS_NONE);
    m->w1 = ms_linear_new(model, m->scope, "w1", hidden, middle, false);
    m->w3 = ms_linear_new(model, m->scope, "w3", hidden, middle, false);
    m->w2 = ms_linear_new(model, m->scope, "w2", middle, hidden, false);
    return m;
}

static ms_tensor mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor x)
{
    ms_tape *tape = model->tape;
    const mlp_module *m = layer->mlp;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_tensor gate = ms_silu(tape, ms_linear_call(model, &m->w1, *input));
    ms_tensor product = ms_mul(tape, gate, ms_linear_call(model, &m->w3, *input));
    ms_tensor *out = ms_local(&f, ms_linear_call(model, &m->w2, product));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

/* ---- the family ---- */

static bool build(ms_model *model)
{
    return ms_decoder_build(
        model, (ms_decoder_style){.norms = {{"operator_norm", MS_NORM_BEFORE_ATTENTION},
                                            {"ffn_norm", MS_NORM_BEFORE_MLP}},
                                  .norm_name = "embedding_norm",
                                  .rotary_before_norm = true,
                                  .output_name = "out_proj",
                                  .query_norm_name = "q_layernorm",
                                  .key_norm_name = "k_layernorm",
                                  .head_norms = MS_HEAD_NORMS_AT_ONCE,
                                  .build_attention = build_attention,
                                  .attention = attend,
                                  .build_mlp = build_mlp,
                                  .mlp = mlp,
                                  .mask_arguments = true});
}

/* Where the file lists nothing, every layer has attention. */
static uint8_t layer_kind(const ms_model_config *config, uint64_t layer)
{
    (void)config, (void)layer;
    return 0;
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .llama_cpp = "lfm2",
};

const ms_family ms_family_lfm2 = {.model_type = "lfm2",
                                  .facts = &facts,
                                  .classes = {{"Lfm2ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                  .keys = keys,
                                  .key_count = sizeof keys / sizeof *keys,
                                  .check = ms_check_heads_divide,
                                  .layer_kind = layer_kind,
                                  .unpredicted = MS_UNPREDICTED_PADDING,
                                  .program = &program};
