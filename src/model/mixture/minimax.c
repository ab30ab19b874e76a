/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * MiniMax-M2: norms over the whole query and key, part of each head rotated, and experts in every
 * layer, selected by sigmoids and a bias.
 */
#include "model/decoder/experts.h"
#include "model/decoder/router_loss.h"
#include "model/decoder/whole_norms.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/moe/experts.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 200064, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 3072, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 1536, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 62, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 48, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 8, MAX_HEADS),
    COUNT("head_dim", head_dim, 128, MAX_HEAD_DIM),
    COUNT("max_position_embeddings", max_positions, 196608, MAX_POSITIONS),
    ROTARY_SHARE("partial_rotary_factor", 0),
    OPTIONAL("rotary_dim", rotary_width, MS_DEFAULT_VALUE, 0, MS_DEFAULT_VALUE, 0, MAX_HEAD_DIM),
    EXPERTS("num_local_experts", "num_experts", 256),
    EXPERTS_PER_TOKEN(8),
    ROUTER_LOGITS,
    FRACTION("router_jitter_noise", router_jitter, 0),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    DECODER_IGNORED, IGNORED("router_aux_loss_coef"),
};
/* clang-format on */

typedef struct minimax_moe {
    uint32_t scope;
    ms_router_module router;
    ms_experts_module experts;
    ms_tensor bias; /* of the router, for the choice alone: a buffer */
} minimax_moe;

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)d, (void)number;
    minimax_moe *m = ms_arena_array(model->arena, minimax_moe, 1);
    if (!m)
        return NULL;
    m->scope = ms_scope_add(model->tape, parent, "mlp", MS_NONE);
    m->router = ms_router_new(model, m->scope);
    m->experts = ms_experts_new(model, m->scope, (ms_experts_form){0});
    m->bias = ms_buffer_new(model, MS_SHAPE(ms_expert_count(model)), model->run->dtype,
                            "e_score_correction_bias");
    return m;
}

static void route(ms_model *model, const minimax_moe *m, ms_tensor hidden, ms_routing *out)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, m->router.scope);
    *out = (ms_routing){0};
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, hidden);
    ms_assign(&f, input, ms_as_tokens(model, *input));
    ms_dtype dtype =
        ms_idle(tape) ? MS_DTYPE_F32 : (ms_dtype)ms_info(tape, m->router.weight)->dtype;
    ms_tensor x = ms_to(tape, *input, dtype);
    ms_tensor *logits = ms_local(&f, ms_linear(tape, x, m->router.weight, 0));
    ms_tensor *scores = ms_local(&f, ms_sigmoid(tape, ms_to(tape, *logits, MS_DTYPE_F32)));
    bool grad_enabled = tape->grad_enabled;
    tape->grad_enabled = false;
    ms_tensor *choice = ms_local(&f, ms_add(tape, *scores, m->bias));
    tape->grad_enabled = grad_enabled;
    ms_tensor *experts = ms_local(&f, ms_best_experts(model, &f, *choice));
    ms_tensor *weights = ms_local(&f, ms_gather_last(tape, *scores, *experts));
    ms_assign(&f, weights, ms_div_into(tape, *weights, ms_sum_dim(tape, *weights, 1, true)));
    ms_routing_keep(model, *logits, *weights, *experts, out);
    ms_locals_end(&f, NULL);
    tape->scope = previous;
}

static ms_tensor mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor x)
{
    ms_tape *tape = model->tape;
    const minimax_moe *m = layer->mlp;
    if (ms_idle(tape) || !x)
        return 0;
    const ms_shape shape = ms_info(tape, x)->shape;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_routing routing;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_assign(&f, hidden, ms_as_tokens(model, *hidden));
    route(model, m, *hidden, &routing);
    ms_routing_bind(&f, &routing);
    ms_assign(&f, hidden, ms_experts_call(model, &m->experts, *hidden, &routing));
    ms_assign(&f, hidden, ms_reshape(tape, *hidden, shape));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static bool build(ms_model *model)
{
    return ms_decoder_build(model,
                            (ms_decoder_style){.build_attention = ms_whole_norm_attention_new,
                                               .attention = ms_whole_norm_attention,
                                               .rotary = ms_rotary_part,
                                               .build_mlp = build_mlp,
                                               .mlp = mlp,
                                               .add_loss = ms_router_loss_add,
                                               .drop = ms_router_logits_drop});
}

/* Published files give the rotated part of a head in elements. */
static ms_status derive(ms_model_config *config, ms_error *err)
{
    if (config->rotary_share > 0 || config->rotary_width == 0)
        return MS_OK;
    if (config->rotary_width > config->head_dim) {
        snprintf(err->pointer, sizeof err->pointer, "/rotary_dim");
        return ms_fail(err, MS_ERR_CONFIG,
                       "%" PRIu64 " elements are rotated, but head_dim is %" PRIu64,
                       config->rotary_width, config->head_dim);
    }
    config->rotary_share = (double)config->rotary_width / (double)config->head_dim;
    return MS_OK;
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .compared = MS_WITH_ZERO3 | MS_WITH_ZERO3_EXPERTS | MS_WITH_CHUNKED_LOSS,
    .peft = {.exchanged = ms_experts_of_mixtral},
};

const ms_family ms_family_minimax_m2 = {.model_type = "minimax_m2",
                                        .facts = &facts,
                                        .classes = {{"MiniMaxM2ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                        .keys = keys,
                                        .key_count = sizeof keys / sizeof *keys,
                                        .derive = derive,
                                        .check = ms_check_quiet_experts,
                                        .layer_kind = ms_sparse_everywhere,
                                        .program = &program};
