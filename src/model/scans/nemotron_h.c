/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Nemotron-H: each layer is a norm and one mixer, which is Mamba 2's scan, attention without rotary
 * embeddings, an MLP or a mixture of experts.
 */
#include "input/config/model/family.h"
#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_config.h"
#include "model/blocks/blocks.h"
#include "model/blocks/model.h"
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_layer.h"
#include "model/decoder/experts.h"
#include "model/decoder/group_router.h"
#include "model/decoder/router_loss.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"
#include "model/mixture/expert_groups.h"
#include "model/recurrent/mamba2_mixer.h"
#include "model/recurrent/mamba_model.h"
#include "torch/ops/ops.h"

/* ---- nemotron mlp ---- */

/* Nemotron-H's layers without attention or scan: an MLP without a gate, or a mixture of such, whose
 * experts may read and write a narrower latent. */

typedef struct plain_mlp {
    uint32_t scope;
    ms_linear_module up, down;
} plain_mlp;

typedef struct mixture {
    uint32_t scope;
    ms_experts_module experts;
    ms_group_router router;
    plain_mlp shared;
    ms_linear_module into, out_of; /* the latent; weight 0: there is none */
} mixture;

/* ---- construction ---- */

static plain_mlp mlp_new(ms_model *model, uint32_t parent, const char *name, ms_dim width)
{
    const bool bias = model->config->mlp_bias;
    plain_mlp m = {.scope = ms_scope_add(model->tape, parent, name, MS_NONE)};
    m.up = ms_linear_new(model, m.scope, "up_proj", model->hidden, width, bias);
    m.down = ms_linear_new(model, m.scope, "down_proj", width, model->hidden, bias);
    return m;
}

static bool mixture_new(ms_model *model, uint32_t parent, mixture *m)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_model_config *c = model->config;
    ms_experts_form experts = {.ungated = true};
    if (c->expert_latent > 0)
        experts.width = ms_dim_name(s, "He", c->expert_latent);
    m->scope = ms_scope_add(model->tape, parent, "mixer", MS_NONE);
    m->experts = ms_experts_new(model, m->scope, experts);
    m->router = ms_group_router_new(model, m->scope);
    m->shared =
        mlp_new(model, m->scope, "shared_experts", ms_dim_name(s, "Fs", c->shared_expert_size));
    if (c->expert_latent == 0)
        return true;
    const ms_dim latent = m->experts.width;
    m->into = ms_linear_new(model, m->scope, "fc1_latent_proj", model->hidden, latent, c->mlp_bias);
    m->out_of =
        ms_linear_new(model, m->scope, "fc2_latent_proj", latent, model->hidden, c->mlp_bias);
    return true;
}

/* The layer's module "mixer", in the arena, by the layer's kind; NULL when out of memory. */
static void *nemotron_mlp_new(ms_model *model, uint32_t parent, uint64_t layer)
{
    if (ms_layer_is_sparse(model, layer)) {
        mixture *m = ms_arena_array(model->arena, mixture, 1);
        return m && mixture_new(model, parent, m) ? m : NULL;
    }
    plain_mlp *m = ms_arena_array(model->arena, plain_mlp, 1);
    if (m)
        *m = mlp_new(model, parent, "mixer", model->intermediate);
    return m;
}

/* ---- forward ---- */

/* down_proj(act(up_proj(x))), in one expression */
static ms_tensor run_mlp(ms_model *model, const plain_mlp *m, ms_tensor x)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_tensor middle = ms_activation_call(model, ms_linear_call(model, &m->up, *input));
    ms_tensor *out = ms_local(&f, ms_linear_call(model, &m->down, middle));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

static ms_tensor run_mixture(ms_model *model, const mixture *m, ms_tensor x)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    const ms_shape shape = ms_info(tape, x)->shape;
    const bool has_latent = m->into.weight != 0;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_routing routing;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *residual = ms_local(&f, *hidden);
    ms_group_router_call(model, &m->router, *residual, &routing);
    ms_routing_bind(&f, &routing);
    ms_assign(&f, hidden, ms_as_tokens(model, *hidden));
    if (has_latent)
        ms_assign(&f, hidden, ms_linear_call(model, &m->into, *hidden));
    ms_assign(&f, hidden, ms_experts_call(model, &m->experts, *hidden, &routing));
    if (has_latent)
        ms_assign(&f, hidden, ms_linear_call(model, &m->out_of, *hidden));
    ms_assign(&f, hidden, ms_view(tape, *hidden, shape));
    ms_assign(&f, hidden, ms_add(tape, *hidden, run_mlp(model, &m->shared, *residual)));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* [B, S, H] to [B, S, H] */
static ms_tensor nemotron_mlp_call(ms_model *model, const void *mlp, uint64_t layer,
                                   ms_tensor hidden)
{
    return ms_layer_is_sparse(model, layer) ? run_mixture(model, mlp, hidden)
                                            : run_mlp(model, mlp, hidden);
}

/* ---- nemotron h ---- */

/* The text of letters, which the list of names overrules. */
#define PATTERN(text, other, is_text)                                                              \
    {                                                                                              \
        .name = text, .aliases = {other}, .kind = MS_KEY_LAYER_PATTERN,                            \
        .offset = MEMBER(num_layers), .default_value = 4, .maximum = MAX_LAYERS,                   \
        .is_other_spelling = is_text                                                               \
    }

/* `text`, which overrules the newer spelling. */
#define RENAMED(text, newer, member, value, most)                                                  \
    {                                                                                              \
        .name = text, .aliases = {newer}, .kind = MS_KEY_COUNT, .offset = MEMBER(member),          \
        .default_value = value, .minimum = 1, .maximum = most                                      \
    }

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 131072, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 21504, MAX_INTERMEDIATE),
    PATTERN("hybrid_override_pattern", NULL, true),
    PATTERN("layers_block_type", "layer_types", false),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 8, MAX_HEADS),
    COUNT("head_dim", head_dim, 128, MAX_HEAD_DIM),
    COUNT("max_position_embeddings", max_positions, 4096, MAX_POSITIONS),
    COUNT("mamba_num_heads", scan_heads, 128, MAX_HEADS),
    COUNT("mamba_head_dim", scan_head_dim, 64, MAX_HEAD_DIM),
    SCAN_STATES("ssm_state_size", 128),
    RENAMED("n_groups", "mamba_n_groups", state_groups, 8, MAX_HEADS),
    RENAMED("conv_kernel", "mamba_d_conv", convolution_width, 4, MAX_HEAD_DIM),
    SCAN_CHUNK("mamba_chunk_size", 128),
    BOOL("use_bias", scan_bias, false),
    { .name = "use_conv_bias", .aliases = {"mamba_conv_bias"}, .kind = MS_KEY_BOOL,
      .offset = MEMBER(convolution_bias), .default_value = true },
    SCAN_ACTIVATION("mamba_hidden_act"),
    ACTIVATION("mlp_hidden_act", MS_ACTIVATION_RELU2),
    BOOL("mlp_bias", mlp_bias, false),
    FRACTION("attention_dropout", attention_dropout, 0),
    EXPERTS("n_routed_experts", "num_local_experts", 8),
    EXPERTS_PER_TOKEN(2),
    COUNT("moe_intermediate_size", expert_size, 7688, MAX_INTERMEDIATE),
    COUNT("moe_shared_expert_intermediate_size", shared_expert_size, 7688, MAX_INTERMEDIATE),
    OPTIONAL("moe_latent_size", expert_latent, MS_DEFAULT_VALUE, 0, MS_DEFAULT_VALUE, 0, MAX_HIDDEN),
    COUNT("n_group", expert_groups, 1, MAX_EXPERTS),
    COUNT("topk_group", chosen_groups, 1, MAX_EXPERTS),
    BOOL("norm_topk_prob", normalises_experts, true),
    { .name = "num_nextn_predict_layers", .kind = MS_KEY_COUNT,
      .offset = MEMBER(prediction_layers), .maximum = MAX_LAYERS },
    ROUTER_LOGITS,
    PAD_TOKEN_OR(0),
    DECODER_IGNORED, IGNORED("num_hidden_layers"), IGNORED("layer_norm_epsilon"),
    IGNORED("norm_eps"), IGNORED("expand"), IGNORED("mamba_expand"), IGNORED("sliding_window"),
    IGNORED("attention_head_dim"), IGNORED("hidden_dropout"), IGNORED("residual_in_fp32"),
    IGNORED("rescale_prenorm_residual"), IGNORED("tie_word_embeddings"),
    IGNORED("mamba_num_groups"), IGNORED("mamba_state_dim"),
    IGNORED("mamba_proj_bias"), IGNORED("mamba_ssm_cache_dtype"), IGNORED("use_mamba_kernels"),
    IGNORED("num_logits_to_keep"), IGNORED("n_shared_experts"),
    IGNORED("moe_shared_expert_overlap"), IGNORED("routed_scaling_factor"),
    IGNORED("mtp_layers_block_type"), IGNORED("mtp_hybrid_override_pattern"),
    IGNORED("time_step_min"), IGNORED("time_step_max"), IGNORED("time_step_floor"),
    IGNORED("time_step_limit"), IGNORED("time_step_rank"), IGNORED("partial_rotary_factor"),
    IGNORED("attention_bias"), /* the class has none, whatever it says */
};

/* clang-format on */

/* ---- layers ---- */

static bool is_mlp(const ms_model *model, uint64_t layer)
{
    return ms_layer_kind(model->config, layer) & MS_LAYER_MLP_ALONE;
}

static void *build_mixer(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    if (is_mlp(model, number))
        return nemotron_mlp_new(model, parent, number);
    return ms_layer_is_token_mixer(model->config, number)
               ? ms_mamba2_mixer_new(model, parent)
               : ms_self_attention_new(model, d, parent, number);
}

static void *build_nothing(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)model, (void)d, (void)parent, (void)number;
    return NULL;
}

static ms_tensor mix(ms_model *model, ms_decoder *d, const ms_decoder_layer *layer, ms_tensor x,
                     ms_tensor *weights)
{
    if (is_mlp(model, layer->number))
        return nemotron_mlp_call(model, layer->attention, layer->number, x);
    return ms_layer_is_token_mixer(model->config, layer->number)
               ? ms_mamba2_mixer_call(model, layer->attention, x)
               : ms_self_attention(model, d, layer, x, weights);
}

/* x + mixer(norm(x)) */
static ms_tensor run_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    const ms_decoder *d = model->modules;
    const ms_decoder_layer *l = &d->layers[number];
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor *residual = ms_local(&f, *hidden);
    ms_locals call = ms_locals_begin(tape);
    ms_tensor *cast = ms_argument_in(&call, *hidden, l->norms[MS_NORM_BEFORE_ATTENTION].weight);
    ms_assign(&f, hidden, ms_norm_at(model, l, MS_NORM_BEFORE_ATTENTION, *cast));
    ms_locals_end(&call, NULL);
    ms_assign(&f, hidden, ms_layer_attention(model, l, &f, *hidden));
    ms_assign(&f, hidden, ms_idle(tape) ? 0 : ms_add(tape, *residual, *hidden));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* ---- the model ---- */

static void build_no_tables(ms_model *model, ms_decoder *d)
{
    (void)model, (void)d;
}

static void make_no_tables(ms_model *model, uint32_t scope, ms_tensor inv_freq,
                           ms_tensor position_ids, ms_dtype dtype, ms_tensor out[2])
{
    (void)model, (void)scope, (void)inv_freq, (void)position_ids, (void)dtype;
    out[0] = out[1] = 0;
}

static bool build(ms_model *model)
{
    model->scale_logits = ms_in_fp32;
    return ms_decoder_build(model, (ms_decoder_style){.norms = {{"norm", MS_NORM_BEFORE_ATTENTION}},
                                                      .norms_first = true,
                                                      .norm = ms_widened_rms_norm_call,
                                                      .embedding_name = "embeddings",
                                                      .norm_name = "norm_f",
                                                      .attention_name = "mixer",
                                                      .run_layer = run_layer,
                                                      .build_attention = build_mixer,
                                                      .attention = mix,
                                                      .build_mlp = build_nothing,
                                                      .build_rotary = build_no_tables,
                                                      .rotary_tables = make_no_tables,
                                                      .mask_arguments = true,
                                                      .drop = ms_router_logits_drop});
}

/* Where the file lists nothing: one layer of each kind. */
static uint8_t layer_kind(const ms_model_config *config, uint64_t layer)
{
    static const uint8_t kinds[] = {MS_LAYER_TOKEN_MIXER, MS_LAYER_MLP_ALONE | MS_LAYER_SPARSE,
                                    MS_LAYER_NO_ROTARY, MS_LAYER_MLP_ALONE};
    (void)config;
    return kinds[layer % 4];
}

static ms_status check(const ms_model_config *c, ms_error *err)
{
    const uint64_t inner = c->scan_heads * c->scan_head_dim;
    const bool scans = ms_model_has_layers(c, MS_LAYER_TOKEN_MIXER);
    if (scans && (c->scan_heads % c->state_groups != 0 || inner % c->state_groups != 0)) {
        snprintf(err->pointer, sizeof err->pointer, "/n_groups");
        return ms_fail(err, MS_ERR_CONFIG, "%" PRIu64 " does not divide mamba_num_heads %" PRIu64,
                       c->state_groups, c->scan_heads);
    }
    return c->num_experts > 0 ? ms_check_groups(c, 2, err) : MS_OK;
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .peft = {.lora = {"q_proj", "k_proj", "v_proj", "o_proj"},
             .refused = {{"out_proj", "PEFT refuses to adapt it", "in_proj"}}},
};

const ms_family ms_family_nemotron_h = {.model_type = "nemotron_h",
                                        .facts = &facts,
                                        .classes = {{"NemotronHForCausalLM", MS_HEAD_CAUSAL_LM}},
                                        .keys = keys,
                                        .key_count = sizeof keys / sizeof *keys,
                                        .check = check,
                                        .layer_kind = layer_kind,
                                        .scales_logits = true, /* to fp32 */
                                        .has_no_rotary = true,
                                        .has_lone_mixers = true,
                                        .has_no_mlp_module = true,
                                        .unpredicted =
                                            MS_UNPREDICTED_HOST_PARAMETERS | MS_UNPREDICTED_PADDING,
                                        .program = &program};
