/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Granite: families/granite.family has its keys, modules and calls. Granite 4.0 without state-space
 * layers and experts (granitemoehybrid): the same, with gate and up in one product.
 */
#include "model/decoder/decoder.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "torch/ops/ops.h"

/* clang-format off */
static const ms_key hybrid_keys[] = {
    COUNT("vocab_size", vocab_size, 32000, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 11008, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 32, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    KV_HEADS_AS_HEADS,
    COUNT("max_position_embeddings", max_positions, 2048, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    BOOL("attention_bias", attention_bias, false),
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    IGNORED("embedding_multiplier"), /* a factor of 1 is applied too */
    IGNORED("logits_scaling"),
    IGNORED("residual_multiplier"),
    IGNORED("attention_multiplier"),
    DECODER_IGNORED,
    HEAD_DIM_FROM_HIDDEN,
    COUNT("shared_intermediate_size", shared_expert_size, 1024, MAX_INTERMEDIATE),
    { .name = "num_local_experts", .aliases = {"num_experts"}, .kind = MS_KEY_COUNT,
      .offset = MEMBER(num_experts), .default_value = 8, .maximum = MAX_EXPERTS },
    CHOICE("position_embedding_type", turns_heads, "nope", "rope"),
    { .name = "layer_types", .aliases = {"layers_block_type"}, .kind = MS_KEY_LAYER_TYPES, .required = true },
    IGNORED("num_experts_per_tok"), IGNORED("output_router_logits"), IGNORED("router_aux_loss_coef"),
    IGNORED("mamba_n_heads"), IGNORED("mamba_n_groups"), IGNORED("mamba_d_state"), IGNORED("mamba_d_head"),
    IGNORED("mamba_d_conv"), IGNORED("mamba_expand"), IGNORED("mamba_chunk_size"), IGNORED("mamba_conv_bias"),
    IGNORED("mamba_proj_bias"), IGNORED("time_step_limit"), IGNORED("normalization_function"),
};
/* clang-format on */

typedef struct shared_mlp {
    uint32_t scope;
    ms_linear_module input_linear, output_linear;
} shared_mlp;

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)d, (void)number;
    ms_symbols *s = &model->tape->trace->symbols;
    ms_dim width = ms_dim_name(s, "Fs", model->config->shared_expert_size);
    ms_dim both = ms_dim_mul(s, ms_dim_number(s, 2), width);
    shared_mlp *m = ms_arena_array(model->arena, shared_mlp, 1);
    if (!m)
        return NULL;
    m->scope = ms_scope_add(model->tape, parent, "shared_mlp", MS_NONE);
    m->input_linear = ms_linear_new(model, m->scope, "input_linear", model->hidden, both, false);
    m->output_linear = ms_linear_new(model, m->scope, "output_linear", width, model->hidden, false);
    return m;
}

static ms_tensor mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor x)
{
    ms_tape *tape = model->tape;
    const shared_mlp *m = layer->mlp;
    ms_dim width = ms_dim_name(&tape->trace->symbols, "Fs", model->config->shared_expert_size);
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_assign(&f, hidden, ms_linear_call(model, &m->input_linear, *hidden));
    ms_tensor parts[2];
    uint32_t last = ms_idle(tape) || !*hidden ? 0 : ms_info(tape, *hidden)->shape.rank - 1;
    ms_split(tape, *hidden, last, width, 2, parts);
    ms_tensor *gate = ms_local(&f, parts[0]), *up = ms_local(&f, parts[1]);
    ms_assign(&f, hidden, ms_mul(tape, ms_activation_call(model, *gate), *up));
    ms_assign(&f, hidden, ms_linear_call(model, &m->output_linear, *hidden));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static bool build_hybrid(ms_model *model)
{
    model->scale_logits = ms_div_scalar;
    return ms_decoder_build(model, (ms_decoder_style){.qkv_bias = model->config->attention_bias,
                                                      .output_bias = model->config->attention_bias,
                                                      .mlp_bias = model->config->mlp_bias,
                                                      .build_mlp = build_mlp,
                                                      .mlp = mlp,
                                                      .norms_first = true,
                                                      .mlp_first = true,
                                                      .multiplied_embedding = true,
                                                      .multiplied_residual = true,
                                                      .mask_arguments = true,
                                                      .masks_without_positions = true,
                                                      .layers_without_positions = true});
}

static ms_status check_hybrid(const ms_model_config *config, ms_error *err)
{
    if (config->num_experts > 0) {
        snprintf(err->pointer, sizeof err->pointer, "/num_local_experts");
        return ms_fail(err, MS_ERR_CONFIG, "experts are not supported here, the number must be 0");
    }
    if (config->turns_heads)
        return MS_OK;
    snprintf(err->pointer, sizeof err->pointer, "/position_embedding_type");
    return ms_fail(err, MS_ERR_CONFIG, "only rope is supported");
}

static const ms_model_program hybrid_program = {build_hybrid, ms_decoder_forward};

const ms_family ms_family_granitemoehybrid = {
    .model_type = "granitemoehybrid",
    .classes = {{"GraniteMoeHybridForCausalLM", MS_HEAD_CAUSAL_LM}},
    .keys = hybrid_keys,
    .key_count = sizeof hybrid_keys / sizeof *hybrid_keys,
    .check = check_hybrid,
    .scales_logits = true,
    .program = &hybrid_program};
