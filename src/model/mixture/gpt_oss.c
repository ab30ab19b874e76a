/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GPT-OSS: eager attention with a sink per head, every second layer sliding; every MLP replaced by
 * experts with biases and a clamped gate.
 */
#include "model/blocks/host/host_modules.h"
#include "model/decoder/experts.h"
#include "model/decoder/router_loss.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/moe/experts.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 201088, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 2880, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 2880, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 36, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 64, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 8, MAX_HEADS),
    HEAD_DIM_OR(64),
    COUNT("max_position_embeddings", max_positions, 131072, MAX_POSITIONS),
    EXPERTS("num_local_experts", "num_experts", 128),
    EXPERTS_PER_TOKEN(4),
    ROUTER_LOGITS,
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("attention_bias", attention_bias, true),
    COUNT("sliding_window", sliding_window, 128, MAX_POSITIONS),
    LAYER_TYPES,
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    DECODER_IGNORED, IGNORED("router_aux_loss_coef"), IGNORED("hidden_act"), IGNORED("swiglu_alpha"),
    IGNORED("swiglu_limit"), IGNORED("experts_per_token"), IGNORED("initial_context_length"),
};
/* clang-format on */

/* ---- rotary embeddings: tables of half a head ---- */

static void rotary_tables(ms_model *model, uint32_t scope, ms_tensor inv_freq,
                          ms_tensor position_ids, ms_dtype dtype, ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    ms_rotary_module rotary;
    ms_rotary_enter(model, scope, inv_freq, position_ids, &rotary);
    ms_locals *f = &rotary.frame;
    ms_tensor *cos = ms_local(f, ms_mul_scalar(tape, ms_cos(tape, *rotary.angles)));
    ms_tensor *sin = ms_local(f, ms_mul_scalar(tape, ms_sin(tape, *rotary.angles)));
    ms_tensor cast = ms_to(tape, *cos, dtype);
    ms_return_both(f, cast, ms_to(tape, *sin, dtype), out);
    ms_rotary_leave(model, &rotary);
}

static ms_tensor turn(ms_tape *tape, ms_tensor x, ms_tensor cos, ms_tensor sin)
{
    if (ms_idle(tape) || !x)
        return 0;
    ms_tensor halves[2];
    ms_dim half = ms_dim_half(&tape->trace->symbols, ms_info(tape, x)->shape.dims[3]);
    ms_locals f = ms_locals_begin(tape);
    ms_split(tape, x, 3, half, 2, halves);
    ms_tensor *lower = ms_local(&f, halves[0]), *upper = ms_local(&f, halves[1]);
    ms_tensor product = ms_mul(tape, *lower, cos);
    ms_tensor *first = ms_local(&f, ms_sub(tape, product, ms_mul(tape, *upper, sin)));
    product = ms_mul(tape, *upper, cos);
    ms_tensor *second = ms_local(&f, ms_add(tape, product, ms_mul(tape, *lower, sin)));
    ms_tensor out = ms_cat2(tape, *first, *second, 3);
    ms_retain(tape, out);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, out);
}

static void rotary(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor cos, ms_tensor sin,
                   ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *c = ms_local(&f, ms_unsqueeze(tape, cos, 1));
    ms_tensor *s = ms_local(&f, ms_unsqueeze(tape, sin, 1));
    ms_tensor *q_embed = ms_local(&f, turn(tape, q, *c, *s));
    ms_tensor *k_embed = ms_local(&f, turn(tape, k, *c, *s));
    ms_return_both(&f, *q_embed, *k_embed, out);
}

/* ---- experts ---- */

typedef struct biased_moe {
    uint32_t scope, router_scope;
    ms_tensor router_weight, router_bias;
    ms_experts_module experts;
} biased_moe;

/* gate and up alternate; (up + 1) * gate * sigmoid(gate * alpha), both clamped. */
static ms_tensor clamped_gate(ms_model *model, ms_tensor gate_up)
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, gate_up);
    ms_tensor *gate = ms_local(&f, ms_slice_every_second(tape, *input));
    ms_tensor *up = ms_local(&f, ms_slice_every_second(tape, *input));
    ms_assign(&f, gate, ms_clamp(tape, *gate, 1));
    ms_assign(&f, up, ms_clamp(tape, *up, 2));
    ms_tensor *glu =
        ms_local(&f, ms_mul(tape, *gate, ms_sigmoid(tape, ms_mul_scalar(tape, *gate))));
    ms_tensor *out = ms_local(&f, ms_mul(tape, ms_add_scalar(tape, *up), *glu));
    return ms_locals_end(&f, out);
}

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)d, (void)number;
    biased_moe *m = ms_arena_array(model->arena, biased_moe, 1);
    if (!m)
        return NULL;
    ms_dim count = ms_expert_count(model);
    m->scope = ms_scope_add(model->tape, parent, "mlp", MS_NONE);
    m->router_scope = ms_scope_add(model->tape, m->scope, "router", MS_NONE);
    m->router_weight =
        ms_parameter_new(model, m->router_scope, "weight", MS_SHAPE(count, model->hidden));
    m->router_bias = ms_parameter_new(model, m->router_scope, "bias", MS_SHAPE(count));
    m->experts = ms_experts_new(
        model, m->scope, (ms_experts_form){.bias = true, .transposed = true, .gate = clamped_gate});
    return m;
}

/* softmax of the best logits */
static void route(ms_model *model, const biased_moe *m, ms_tensor hidden, ms_routing *out)
{
    ms_tape *tape = model->tape;
    ms_tensor best[2];
    uint32_t previous = ms_scope_enter(tape, m->router_scope);
    *out = (ms_routing){0};
    const ms_fetched fetched = ms_host_fetch_pair(model, m->router_weight, m->router_bias);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, hidden);
    ms_tensor *logits =
        ms_local(&f, ms_idle(tape) ? 0 : ms_linear(tape, *input, m->router_weight, m->router_bias));
    ms_topk(tape, *logits, ms_experts_per_token(model), best);
    ms_retain(tape, best[1]);
    ms_tensor *values = ms_local(&f, best[0]);
    ms_dtype dtype = ms_idle(tape) ? MS_DTYPE_F32 : (ms_dtype)ms_info(tape, *values)->dtype;
    ms_tensor *weights = ms_local(&f, ms_softmax_in(tape, *values, dtype));
    ms_tensor *experts = ms_local(&f, ms_unown(tape, best[1]));
    ms_routing_keep(model, *logits, *weights, *experts, out);
    ms_locals_end(&f, NULL);
    ms_host_drop(model, &fetched);
    tape->scope = previous;
}

static ms_tensor mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor x)
{
    ms_tape *tape = model->tape;
    ms_decoder *d = model->modules;
    const biased_moe *m = layer->mlp;
    if (ms_idle(tape) || !x)
        return 0;
    const ms_shape shape = ms_info(tape, x)->shape;
    ms_routing routing;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_assign(&f, hidden, ms_as_tokens(model, *hidden));
    route(model, m, *hidden, &routing);
    ms_routing_bind(&f, &routing);
    ms_assign(&f, hidden, ms_experts_call(model, &m->experts, *hidden, &routing));
    ms_assign(&f, hidden, ms_reshape(tape, *hidden, shape));
    if (!tape->stopped) {
        d->second_result = routing.weights;
        ms_retain(tape, routing.weights);
    }
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* ---- the family ---- */

static bool build(ms_model *model)
{
    bool bias = model->config->attention_bias;
    return ms_decoder_build(model, (ms_decoder_style){.qkv_bias = bias,
                                                      .output_bias = bias,
                                                      .sinks = true,
                                                      .rotary_tables = rotary_tables,
                                                      .rotary = rotary,
                                                      .norm = ms_fp32_rms_norm_call,
                                                      .build_mlp = build_mlp,
                                                      .mlp = mlp,
                                                      .add_loss = ms_router_loss_add,
                                                      .drop = ms_router_logits_drop,
                                                      .mask_arguments = true,
                                                      .masks_without_positions = true,
                                                      .both_masks = true});
}

static uint8_t layer_kind(const ms_model_config *config, uint64_t layer)
{
    (void)config;
    return layer % 2 == 0 ? MS_LAYER_SPARSE | MS_LAYER_SLIDES : MS_LAYER_SPARSE;
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .compared = MS_WITH_ZERO3 | MS_WITH_ZERO3_EXPERTS | MS_WITH_CHUNKED_LOSS,
    .liger = {.kernels = MS_LIGER_ROPE | MS_LIGER_RMS_NORM | MS_LIGER_LOSS,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST,
              .logits_share = 8},
    .llama_cpp = "gpt-oss",
    .vllm = &(const ms_vllm_arch){.qkv_bias = MS_VLLM_BIAS_ALWAYS,
                                  .out_bias = MS_VLLM_BIAS_ALWAYS,
                                  .norms = 2,
                                  .tie = MS_VLLM_TIE_DROPS,
                                  .table = MS_VLLM_TABLE_WIDE_FIRST,
                                  .experts = MS_VLLM_EXPERTS_ALL,
                                  .has_sinks = true},
    .stores_mxfp4 = true,
};

const ms_family ms_family_gpt_oss = {.model_type = "gpt_oss",
                                     .facts = &facts,
                                     .classes = {{"GptOssForCausalLM", MS_HEAD_CAUSAL_LM}},
                                     .keys = keys,
                                     .key_count = sizeof keys / sizeof *keys,
                                     .check = ms_check_experts,
                                     .layer_kind = layer_kind,
                                     .eager_only = true,
                                     .has_sinks = true,
                                     .grouped_experts_only = true,
                                     .takes_cache = true,
                                     .program = &program};
