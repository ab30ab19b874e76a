/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Qwen3-Next and Qwen3.5: three of four layers have a gated delta net; the others have attention
 * with an output gate.
 */
#include "input/config/model/family.h"
#include "model/decoder/decoder_layer.h"
#include "model/decoder/decoder_mlp.h"
#include "model/decoder/decoder_tables.h"
#include "model/recurrent/delta_net.h"
#include "model/decoder/experts.h"
#include "model/decoder/router_loss.h"
#include "model/decoder/shared_expert.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "model/vision/qwen/qwen3_tower.h"
#include "torch/ops/ops.h"

/* clang-format off */
#define DELTA_KEYS                                                                                 \
    COUNT("linear_conv_kernel_dim", convolution_width, 4, MAX_HEAD_DIM),                           \
    COUNT("linear_key_head_dim", linear_key_dim, 128, MAX_HEAD_DIM),                               \
    COUNT("linear_value_head_dim", linear_value_dim, 128, MAX_HEAD_DIM),                           \
    COUNT("linear_num_key_heads", linear_key_heads, 16, MAX_HEADS),                                \
    COUNT("linear_num_value_heads", linear_value_heads, 32, MAX_HEADS),                            \
    COUNT("full_attention_interval", attention_interval, 4, MAX_LAYERS),                           \
    { .name = "layer_types", .kind = MS_KEY_LAYER_TYPES, .choices = {"linear_attention"} },        \
    COUNT("head_dim", head_dim, 256, MAX_HEAD_DIM),                                                \
    COUNT("max_position_embeddings", max_positions, 32768, MAX_POSITIONS),                         \
    ROTARY_SHARE("partial_rotary_factor", 0.25),                                                   \
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),                                                  \
    BOOL("attention_bias", attention_bias, false),                                                 \
    FRACTION("attention_dropout", attention_dropout, 0),                                           \
    PAD_TOKEN,                                                                                     \
    DECODER_IGNORED

#define MOE_KEYS(experts, each)                                                                    \
    EXPERTS("num_experts", "num_local_experts", experts),                                          \
    EXPERTS_PER_TOKEN(each),                                                                       \
    COUNT("moe_intermediate_size", expert_size, 512, MAX_INTERMEDIATE),                            \
    COUNT("shared_expert_intermediate_size", shared_expert_size, 512, MAX_INTERMEDIATE),           \
    ROUTER_LOGITS, IGNORED("router_aux_loss_coef")

#define TIED BOOL("tie_word_embeddings", tie_word_embeddings, false)

static const ms_key next_keys[] = {
    COUNT("vocab_size", vocab_size, 151936, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 2048, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 5632, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 48, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 16, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 2, MAX_HEADS),
    DELTA_KEYS,
    MOE_KEYS(512, 10),
    COUNT("decoder_sparse_step", sparse_step, 1, MAX_LAYERS),
    DENSE_LAYERS,
    BOOL("norm_topk_prob", normalises_experts, true),
    TIED,
};

#define DENSE_KEYS                                                                                 \
    COUNT("vocab_size", vocab_size, 248320, MAX_VOCAB),                                            \
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),                                           \
    COUNT("intermediate_size", intermediate_size, 12288, MAX_INTERMEDIATE),                        \
    COUNT("num_hidden_layers", num_layers, 32, MAX_LAYERS),                                        \
    COUNT("num_attention_heads", num_heads, 16, MAX_HEADS),                                        \
    COUNT("num_key_value_heads", num_kv_heads, 4, MAX_HEADS),                                      \
    DELTA_KEYS,                                                                                    \
    IGNORED("mtp_num_hidden_layers"), IGNORED("mtp_use_dedicated_embeddings"),                     \
    IGNORED("attn_output_gate"), IGNORED("mamba_ssm_dtype")

#define SPARSE_KEYS                                                                                \
    COUNT("vocab_size", vocab_size, 248320, MAX_VOCAB),                                            \
    COUNT("hidden_size", hidden_size, 2048, MAX_HIDDEN),                                           \
    COUNT("num_hidden_layers", num_layers, 40, MAX_LAYERS),                                        \
    COUNT("num_attention_heads", num_heads, 16, MAX_HEADS),                                        \
    COUNT("num_key_value_heads", num_kv_heads, 2, MAX_HEADS),                                      \
    DELTA_KEYS,                                                                                    \
    MOE_KEYS(256, 8),                                                                              \
    IGNORED("mtp_num_hidden_layers"), IGNORED("mtp_use_dedicated_embeddings"),                     \
    IGNORED("attn_output_gate"), IGNORED("mamba_ssm_dtype")

static const ms_key dense_keys[] = { DENSE_KEYS, TIED };
static const ms_key moe_keys[] = { SPARSE_KEYS, TIED };

/* Of the text model in a file that also has a vision tower: its head is the whole model's. */
static const ms_key nested_dense_keys[] = { DENSE_KEYS, IGNORED("tie_word_embeddings") };
static const ms_key nested_moe_keys[] = { SPARSE_KEYS, IGNORED("tie_word_embeddings") };
static const ms_key whole_keys[] = { TIED };
static const ms_key vision_keys[] = { QWEN_VISION_KEYS };
/* clang-format on */

/* ---- attention with a gate ---- */

typedef struct gated_attention {
    ms_projections proj;
    ms_norm_module q_norm, k_norm;
} gated_attention;

/* q_proj is as wide as query and gate. */
static void *gated_attention_new(ms_model *model, const ms_decoder *d, uint32_t parent)
{
    ms_symbols *s = &model->tape->trace->symbols;
    gated_attention *a = ms_arena_array(model->arena, gated_attention, 1);
    if (!a)
        return NULL;
    bool bias = d->style.qkv_bias;
    uint32_t scope = ms_scope_add(model->tape, parent, "self_attn", MS_NONE);
    ms_dim q = ms_dim_mul(s, model->heads, model->head_dim);
    ms_dim kv = ms_dim_mul(s, model->kv_heads, model->head_dim);
    ms_dim both = ms_dim_mul(s, ms_dim_number(s, 2), q);
    a->proj.scope = scope;
    a->proj.q_proj = ms_linear_new(model, scope, "q_proj", model->hidden, both, bias);
    a->proj.k_proj = ms_linear_new(model, scope, "k_proj", model->hidden, kv, bias);
    a->proj.v_proj = ms_linear_new(model, scope, "v_proj", model->hidden, kv, bias);
    a->proj.o_proj = ms_linear_new(model, scope, "o_proj", q, model->hidden, bias);
    a->q_norm = ms_norm_new(model, scope, "q_norm", model->head_dim, false);
    a->k_norm = ms_norm_new(model, scope, "k_norm", model->head_dim, false);
    return a;
}

/* Query and gate of each head side by side: two locals. */
static void project_query(ms_model *model, const gated_attention *a, ms_locals *f, ms_tensor hidden,
                          ms_tensor *query, ms_tensor *gate)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    ms_dim pair = ms_dim_mul(s, ms_dim_number(s, 2), model->head_dim);
    ms_tensor both = ms_view(tape, ms_linear_call(model, &a->proj.q_proj, hidden),
                             MS_SHAPE(model->batch, model->seq, model->heads, pair));
    ms_tensor halves[2];
    ms_split(tape, both, 3, model->head_dim, 2, halves);
    ms_assign(f, query, halves[0]);
    ms_assign(f, gate, halves[1]);
    ms_dim width = ms_dim_mul(s, model->heads, model->head_dim);
    ms_assign(f, gate, ms_reshape(tape, *gate, MS_SHAPE(model->batch, model->seq, width)));
}

static ms_tensor key_heads(ms_model *model, const ms_linear_module *linear, ms_tensor hidden)
{
    return ms_view(model->tape, ms_linear_call(model, linear, hidden),
                   MS_SHAPE(model->batch, model->seq, model->kv_heads, model->head_dim));
}

static ms_tensor gated_attention_call(ms_model *model, ms_decoder *d, const ms_decoder_layer *layer,
                                      ms_tensor x, ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const gated_attention *a = layer->attention;
    uint32_t previous = ms_scope_enter(tape, a->proj.scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *query = ms_local(&f, 0), *gate = ms_local(&f, 0);
    project_query(model, a, &f, *hidden, query, gate);
    ms_tensor turned = d->style.norm(model, &a->q_norm, *query);
    ms_assign(&f, query, ms_transpose(tape, turned, 1, 2));
    turned = d->style.norm(model, &a->k_norm, key_heads(model, &a->proj.k_proj, *hidden));
    ms_tensor *key = ms_local(&f, ms_transpose(tape, turned, 1, 2));
    turned = key_heads(model, &a->proj.v_proj, *hidden);
    ms_tensor *value = ms_local(&f, ms_transpose(tape, turned, 1, 2));
    ms_apply_rotary(model, &f, layer, query, key);
    ms_tensor *out =
        ms_local(&f, ms_attention_call(model, layer->number, *query, *key, *value,
                                       ms_decoder_mask(model, d, layer->number), weights));
    ms_retain(tape, *weights);
    ms_dim width = ms_dim_mul(&tape->trace->symbols, model->heads, model->head_dim);
    ms_assign(&f, out, ms_reshape(tape, *out, MS_SHAPE(model->batch, model->seq, width)));
    ms_assign(&f, out, ms_mul(tape, *out, ms_sigmoid(tape, *gate)));
    ms_assign(&f, out, ms_linear_call(model, &a->proj.o_proj, *out));
    ms_tensor result = ms_locals_end(&f, out);
    ms_unown(tape, *weights);
    tape->scope = previous;
    return result;
}

/* ---- layers of both kinds ---- */

static void *build_by_heads(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    return ms_layer_is_token_mixer(model->config, number)
               ? ms_delta_net_new(model, MS_DELTA_BY_HEADS, parent)
               : gated_attention_new(model, d, parent);
}

static void *build_by_parts(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    return ms_layer_is_token_mixer(model->config, number)
               ? ms_delta_net_new(model, MS_DELTA_BY_PARTS, parent)
               : gated_attention_new(model, d, parent);
}

static ms_tensor attend(ms_model *model, ms_decoder *d, const ms_decoder_layer *layer, ms_tensor x,
                        ms_tensor *weights)
{
    return ms_layer_is_token_mixer(model->config, layer->number)
               ? ms_delta_net(model, layer->attention, x)
               : gated_attention_call(model, d, layer, x, weights);
}

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    return ms_layer_is_sparse(model, number) ? ms_shared_mlp_new(model, parent)
                                             : ms_gated_mlp_new(model, d, parent, number);
}

static ms_tensor mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor hidden)
{
    return ms_layer_is_sparse(model, layer->number) ? ms_shared_mlp(model, layer->mlp, hidden)
                                                    : ms_gated_mlp(model, layer, hidden);
}

static ms_decoder_style style_of(const ms_model_config *config)
{
    return (ms_decoder_style){.qkv_bias = config->attention_bias,
                              .attention = attend,
                              .rotary = ms_rotary_part,
                              .build_mlp = build_mlp,
                              .mlp = mlp,
                              .norm = ms_centered_rms_norm_call,
                              .add_loss = ms_router_loss_add,
                              .drop = ms_router_logits_drop,
                              .mask_arguments = true};
}

static bool build_next(ms_model *model)
{
    ms_decoder_style style = style_of(model->config);
    style.build_attention = build_by_heads;
    return ms_decoder_build(model, style);
}

static bool build(ms_model *model)
{
    ms_decoder_style style = style_of(model->config);
    style.build_attention = build_by_parts;
    style.rotary_tables = ms_rotary_of_grids;
    return ms_decoder_build(model, style);
}

static bool build_whole(ms_model *model)
{
    ms_decoder_style style = style_of(model->config);
    style.build_attention = build_by_parts;
    style.rotary_tables = ms_rotary_of_grids;
    style.build_towers = ms_qwen_vision_new;
    return ms_decoder_build(model, style);
}

/* ---- rules ---- */

static uint8_t mixer_kind(const ms_model_config *config, uint64_t layer)
{
    return (layer + 1) % config->attention_interval ? MS_LAYER_TOKEN_MIXER : 0;
}

static uint8_t next_kind(const ms_model_config *config, uint64_t layer)
{
    bool sparse = (layer + 1) % config->sparse_step == 0;
    return mixer_kind(config, layer) | (sparse ? MS_LAYER_SPARSE : 0);
}

static uint8_t moe_kind(const ms_model_config *config, uint64_t layer)
{
    return mixer_kind(config, layer) | MS_LAYER_SPARSE;
}

static ms_status check(const ms_model_config *config, ms_error *err)
{
    if (config->linear_value_heads % config->linear_key_heads == 0)
        return ms_check_experts(config, err);
    snprintf(err->pointer, sizeof err->pointer, "/linear_num_value_heads");
    return ms_fail(err, MS_ERR_CONFIG,
                   "%" PRIu64 " value heads are not a multiple of %" PRIu64 " key heads",
                   config->linear_value_heads, config->linear_key_heads);
}

static ms_status derive_moe(ms_model_config *config, ms_error *err)
{
    (void)err;
    config->normalises_experts = true;
    return MS_OK;
}

/* ---- families ---- */

static const ms_model_program next_program = {build_next, ms_decoder_forward};
static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts qwen3_next_facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .has_head_norms = true,
    .peft = {.exchanged = ms_experts_of_qwen2_moe},
};

const ms_family ms_family_qwen3_next = {.model_type = "qwen3_next",
                                        .facts = &qwen3_next_facts,
                                        .classes = {{"Qwen3NextForCausalLM", MS_HEAD_CAUSAL_LM}},
                                        .keys = next_keys,
                                        .key_count = sizeof next_keys / sizeof *next_keys,
                                        .check = check,
                                        .layer_kind = next_kind,
                                        .unpredicted = MS_UNPREDICTED_PADDING,
                                        .program = &next_program};

static const ms_family_facts qwen3_5_text_facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .has_head_norms = true,
};

const ms_family ms_family_qwen3_5_text = {.model_type = "qwen3_5_text",
                                          .facts = &qwen3_5_text_facts,
                                          .classes = {{"Qwen3_5ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                          .keys = dense_keys,
                                          .key_count = sizeof dense_keys / sizeof *dense_keys,
                                          .check = check,
                                          .layer_kind = mixer_kind,
                                          .unpredicted = MS_UNPREDICTED_PADDING,
                                          .program = &program};

static const ms_family_facts qwen3_5_moe_text_facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .has_head_norms = true,
};

const ms_family ms_family_qwen3_5_moe_text = {
    .model_type = "qwen3_5_moe_text",
    .facts = &qwen3_5_moe_text_facts,
    .classes = {{"Qwen3_5MoeForCausalLM", MS_HEAD_CAUSAL_LM}},
    .keys = moe_keys,
    .key_count = sizeof moe_keys / sizeof *moe_keys,
    .derive = derive_moe,
    .check = check,
    .layer_kind = moe_kind,
    .unpredicted = MS_UNPREDICTED_PADDING,
    .program = &program};

/* ---- with a vision tower, which text alone does not run ---- */

static const ms_model_program whole_program = {build_whole, ms_decoder_forward};

static const ms_key_table more[] = {
    {NULL, NULL, whole_keys, sizeof whole_keys / sizeof *whole_keys},
    {"vision_config", NULL, vision_keys, sizeof vision_keys / sizeof *vision_keys},
};

static const ms_family_facts qwen3_5_facts = {
    .has_head_norms = true,
};

const ms_family ms_family_qwen3_5 = {
    .model_type = "qwen3_5",
    .facts = &qwen3_5_facts,
    .classes = {{"Qwen3_5ForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .keys = nested_dense_keys,
    .key_count = sizeof nested_dense_keys / sizeof *nested_dense_keys,
    .object = "text_config",
    .object_type = "qwen3_5_text",
    .more = more,
    .more_count = sizeof more / sizeof *more,
    .check = check,
    .layer_kind = mixer_kind,
    .unpredicted = MS_UNPREDICTED_PADDING,
    .program = &whole_program};

static const ms_family_facts qwen3_5_moe_facts = {
    .has_head_norms = true,
};

const ms_family ms_family_qwen3_5_moe = {
    .model_type = "qwen3_5_moe",
    .facts = &qwen3_5_moe_facts,
    .classes = {{"Qwen3_5MoeForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .keys = nested_moe_keys,
    .key_count = sizeof nested_moe_keys / sizeof *nested_moe_keys,
    .object = "text_config",
    .object_type = "qwen3_5_moe_text",
    .more = more,
    .more_count = sizeof more / sizeof *more,
    .derive = derive_moe,
    .check = check,
    .layer_kind = moe_kind,
    .unpredicted = MS_UNPREDICTED_PADDING,
    .program = &whole_program};
