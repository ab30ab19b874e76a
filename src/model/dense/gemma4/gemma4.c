/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 4: keys, rules and modules of the text model.
 */
#include "model/dense/gemma4/gemma4.h"

#include "input/config/model/layer_kinds.h"
#include "input/config/model/family.h"
#include "model/blocks/rotary_proportional.h"
#include "model/decoder/decoder_mlp.h"
#include "model/dense/sharing.h"
#include "model/dense/gemma4/attention.h"
#include "model/dense/gemma4/image.h"
#include "model/dense/gemma4/layer.h"
#include "model/dense/gemma4/whole.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"
#include "torch/ops/ops.h"

/* clang-format off */
#define TEXT_KEYS                                                                                  \
    COUNT("vocab_size", vocab_size, 262144, MAX_VOCAB),                                            \
    COUNT("hidden_size", hidden_size, 2304, MAX_HIDDEN),                                           \
    COUNT("intermediate_size", intermediate_size, 9216, MAX_INTERMEDIATE),                         \
    COUNT("num_hidden_layers", num_layers, 30, MAX_LAYERS),                                        \
    COUNT("num_attention_heads", num_heads, 8, MAX_HEADS),                                         \
    COUNT("num_key_value_heads", num_kv_heads, 4, MAX_HEADS),                                      \
    COUNT("head_dim", head_dim, 256, MAX_HEAD_DIM),                                                \
    COUNT("global_head_dim", wide_head_dim, 512, MAX_HEAD_DIM),                                    \
    OPTIONAL("num_global_key_value_heads", wide_kv_heads, MS_DEFAULT_VALUE, 0, MS_DEFAULT_VALUE,   \
             0, MAX_HEADS),                                                                        \
    BOOL("attention_k_eq_v", keys_are_values, false),                                              \
    { .name = "num_kv_shared_layers", .kind = MS_KEY_COUNT, .offset = MEMBER(sharing_layers),      \
      .maximum = MAX_LAYERS },                                                                     \
    BOOL("use_double_wide_mlp", doubles_mlp, false),                                               \
    { .name = "hidden_size_per_layer_input", .kind = MS_KEY_COUNT,                                 \
      .offset = MEMBER(layer_input_size), .default_value = 256, .maximum = MAX_HEAD_DIM },         \
    COUNT("vocab_size_per_layer_input", layer_input_rows, 262144, MAX_VOCAB),                      \
    COUNT("max_position_embeddings", max_positions, 131072, MAX_POSITIONS),                        \
    ACTIVATION("hidden_activation", MS_ACTIVATION_GELU_TANH),                                      \
    BOOL("attention_bias", attention_bias, false),                                                 \
    COUNT("sliding_window", sliding_window, 512, MAX_POSITIONS),                                   \
    LAYER_TYPES,                                                                                   \
    FRACTION("attention_dropout", attention_dropout, 0),                                           \
    { .name = "use_bidirectional_attention", .kind = MS_KEY_CHOICE, .offset = MEMBER(sees_all),    \
      .choices = {"vision", "all"}, .may_be_null = true, .given_offset = MEMBER(sees_ahead) },                                         \
    { .name = "/rope_parameters/full_attention/partial_rotary_factor", .kind = MS_KEY_FRACTION,    \
      .offset = MEMBER(wide_rotary_share), .default_value = 0.25 },                                \
    BOOL("enable_moe_block", has_experts, false),                                                  \
    OPTIONAL("num_experts", num_experts, MS_DEFAULT_VALUE, 0, MS_DEFAULT_VALUE, 0, MAX_EXPERTS),   \
    OPTIONAL("top_k_experts", experts_per_token, MS_DEFAULT_VALUE, 0, MS_DEFAULT_VALUE, 0,         \
             MAX_EXPERTS),                                                                         \
    OPTIONAL("moe_intermediate_size", expert_size, MS_DEFAULT_VALUE, 0, MS_DEFAULT_VALUE, 0,       \
             MAX_INTERMEDIATE),                                                                    \
    PAD_TOKEN_OR(0),                                                                               \
    IGNORED("attn_logit_softcapping"), IGNORED("query_pre_attn_scalar"),                           \
    DECODER_IGNORED

/* Of the text model in a file that also has towers: whether the head is tied is the whole model's
 * matter. */
static const ms_key nested_text_keys[] = {
    TEXT_KEYS,
    IGNORED("tie_word_embeddings"),
    IS_SET("final_logit_softcapping", caps_logits, false),
};

static const ms_key whole_keys[] = {
    BOOL("tie_word_embeddings", tie_word_embeddings, true),
};

static const ms_key vision_keys[] = {
    COUNT("hidden_size", vision.hidden_size, 768, MAX_HIDDEN),
    COUNT("intermediate_size", vision.intermediate_size, 3072, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", vision.num_layers, 16, MAX_LAYERS),
    COUNT("num_attention_heads", vision.num_heads, 12, MAX_HEADS),
    COUNT("num_key_value_heads", vision.num_kv_heads, 12, MAX_HEADS),
    COUNT("head_dim", vision.head_dim, 64, MAX_HEAD_DIM),
    COUNT("patch_size", vision.patch_size, 16, MAX_HEADS),
    COUNT("pooling_kernel_size", vision.pool_size, 3, 64),
    COUNT("position_embedding_size", vision.positions, 10240, MAX_POSITIONS),
    BOOL("use_clipped_linears", vision.has_bounds, false),
    BOOL("standardize", vision.standardizes, false),
    FRACTION("attention_dropout", vision.dropout, 0),
    { .name = "hidden_activation", .kind = MS_KEY_ACTIVATION, .offset = MEMBER(vision.activation),
      .default_value = MS_ACTIVATION_GELU_TANH },
};

static const ms_key audio_keys[] = {
    COUNT("hidden_size", audio.hidden_size, 1024, MAX_HIDDEN),
    COUNT("num_hidden_layers", audio.num_layers, 12, MAX_LAYERS),
    COUNT("num_attention_heads", audio.num_heads, 8, MAX_HEADS),
    COUNT("conv_kernel_size", audio.kernel_size, 5, MAX_HEADS),
    { .name = "subsampling_conv_channels", .kind = MS_KEY_SIDES,
      .offset = MEMBER(audio.channels), .default_value = 0, .minimum = 4, .maximum = MAX_HEADS },
    COUNT("output_proj_dims", audio.out_size, 1536, MAX_HIDDEN),
    BOOL("use_clipped_linears", audio.has_bounds, true),
};
/* clang-format on */

static uint8_t layer_kind(const ms_model_config *config, uint64_t layer)
{
    enum { PATTERN = 6 };
    uint8_t sparse = config->num_experts ? MS_LAYER_SPARSE : 0;
    return (uint8_t)((layer + 1) % PATTERN ? MS_LAYER_SLIDES | sparse : sparse);
}

/* ---- rules ---- */

static ms_status refuse(ms_error *err, const char *key, const char *reason)
{
    snprintf(err->pointer, sizeof err->pointer, "/%s", key);
    return ms_fail(err, MS_ERR_CONFIG, "%s", reason);
}

/* num_global_key_value_heads has an effect only where keys are the values, and the keys of experts
 * where enable_moe_block is set. */
static ms_status derive(ms_model_config *config, ms_error *err)
{
    if (!config->keys_are_values)
        config->wide_kv_heads = 0;
    if (!config->has_experts)
        config->num_experts = config->experts_per_token = config->expert_size = 0;
    else if (!config->num_experts || !config->experts_per_token || !config->expert_size)
        return refuse(err, "enable_moe_block",
                      "it needs num_experts, top_k_experts and moe_intermediate_size");
    return MS_OK;
}

static ms_status check(const ms_model_config *config, ms_error *err)
{
    if (config->sees_all)
        return refuse(err, "use_bidirectional_attention",
                      "attention in both directions is not supported");
    if (config->wide_head_dim % 2)
        return refuse(err, "global_head_dim", "an odd number; rotary embeddings rotate pairs");
    if (config->wide_kv_heads && config->num_heads % config->wide_kv_heads)
        return refuse(err, "num_global_key_value_heads", "it does not divide num_attention_heads");
    if (config->experts_per_token > config->num_experts)
        return refuse(err, "top_k_experts", "more experts per token than there are");
    return ms_check_sharing(config, err);
}

/* ---- modules ---- */

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_model_config *c = model->config;
    bool doubles = c->doubles_mlp && ms_layer_reads_keys(c, number);
    ms_dim middle =
        doubles ? ms_dim_mul(s, ms_dim_number(s, 2), model->intermediate) : model->intermediate;
    return ms_gated_mlp_named(model, parent, "mlp", middle, d->style.mlp_bias);
}

/* Those of both kinds of layers, and again when weights are initialised. */
static void build_rotary(ms_model *model, ms_decoder *d)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_model_config *c = model->config;
    const bool there[] = {ms_model_has_layers_but(c, MS_LAYER_SLIDES),
                          ms_model_has_layers(c, MS_LAYER_SLIDES)};
    const ms_dim counts[] = {ms_dim_number(s, c->wide_head_dim / 2),
                             ms_dim_number(s, c->head_dim / 2)};
    const uint64_t turned = (uint64_t)(c->wide_rotary_share * (double)c->wide_head_dim / 2);
    ms_tensor made[4] = {0};
    d->rotary_scope = ms_rotary_of_two_new(model, d->scope, there, counts, turned, made);
    for (int i = 0; i < 2; i++) {
        d->rotary[i].inv_freq = made[i];
        d->rotary[i].original = made[2 + i];
    }
}

static ms_decoder_style style_of(const ms_model_config *config)
{
    ms_decoder_style style = {.norm = ms_gemma4_norm,
                              .qkv_bias = config->attention_bias,
                              .output_bias = config->attention_bias,
                              .scaled_embedding = true,
                              .norms = {{"input_layernorm", MS_NORM_BEFORE_ATTENTION},
                                        {"post_attention_layernorm", MS_NORM_AFTER_ATTENTION},
                                        {"pre_feedforward_layernorm", MS_NORM_BEFORE_MLP},
                                        {"post_feedforward_layernorm", MS_NORM_AFTER_MLP}}};
    style.build_attention = ms_gemma4_attention_new;
    style.attention = ms_gemma4_attention;
    style.build_mlp = build_mlp;
    style.run_layer = ms_gemma4_layer_run;
    style.build_more_of_layer = ms_gemma4_layer_new;
    style.build_more = ms_gemma4_inputs_new;
    style.build_rotary = build_rotary;
    style.rotary_by_kind = true;
    return style;
}

static bool build_as(ms_model *model, ms_decoder_style style)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_model_config *c = model->config;
    ms_gemma4 *g = ms_arena_array(model->arena, ms_gemma4, 1);
    ms_gemma4_layer *layers = ms_arena_array(model->arena, ms_gemma4_layer, c->num_layers);
    if (!g || !layers)
        return false;
    *g = (ms_gemma4){.of_layers = layers, .layers = ms_dim_name(s, "L", c->num_layers)};
    if (c->layer_input_size) {
        g->width = ms_dim_name(s, "P", c->layer_input_size);
        g->joined = ms_dim_mul(s, g->layers, g->width);
    }
    style.own = g;
    return ms_decoder_build(model, style);
}

/* ---- with towers for pictures and sounds ---- */

static bool build_whole(ms_model *model)
{
    ms_decoder_style style = style_of(model->config);
    style.build_towers = ms_gemma4_vision_towers_new;
    style.build_more = ms_gemma4_other_towers_new;
    return build_as(model, style);
}

/* 128 and 32 channels, if the file says nothing. */
static ms_status derive_whole(ms_model_config *config, ms_error *err)
{
    uint64_t *channels = config->audio.channels;
    if (config->audio.hidden_size && !channels[0]) {
        channels[0] = 128;
        channels[1] = 32;
    }
    return derive(config, err);
}

static ms_status check_whole(const ms_model_config *config, ms_error *err)
{
    const ms_audio_config *audio = &config->audio;
    if (config->pad_token_id == UINT64_MAX)
        return refuse(err, "pad_token_id",
                      "null: the framework's class takes the padding token's embedding");
    if (audio->hidden_size && audio->num_heads > audio->hidden_size)
        return ms_fail(err, MS_ERR_CONFIG, "the audio tower has more heads than elements");
    return check(config, err);
}

static const ms_key_table more[] = {
    {NULL, NULL, whole_keys, sizeof whole_keys / sizeof *whole_keys},
    {"vision_config", "gemma4_vision", vision_keys, sizeof vision_keys / sizeof *vision_keys},
    {"audio_config", "gemma4_audio", audio_keys, sizeof audio_keys / sizeof *audio_keys},
};

static const ms_model_program whole_program = {build_whole, ms_gemma4_forward_whole};

static const ms_family_facts gemma4_facts = {
    .peft = {.lora_pattern = ".*language_model\\..*\\.(q_proj|v_proj)"},
};

const ms_family ms_family_gemma4 = {
    .model_type = "gemma4",
    .facts = &gemma4_facts,
    .classes = {{"Gemma4ForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .keys = nested_text_keys,
    .key_count = sizeof nested_text_keys / sizeof *nested_text_keys,
    .object = "text_config",
    .object_type = "gemma4_text",
    .more = more,
    .more_count = sizeof more / sizeof *more,
    .may_lack_more = true,
    .scales_logits = true,
    .derive = derive_whole,
    .check = check_whole,
    .layer_kind = layer_kind,
    .ends_unlimited = true,
    .place_image = ms_gemma4_place_image,
    .image_input = MS_IMAGES_PADDED,
    .unpredicted = MS_UNPREDICTED_DOCUMENTS | MS_UNPREDICTED_HOST_PARAMETERS |
                   MS_UNPREDICTED_RANKS | MS_UNPREDICTED_OTHER_PACKED,
    .program = &whole_program};
