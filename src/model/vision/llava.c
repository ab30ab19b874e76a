/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * LLaVA 1.5: Llama, with CLIP's vision tower and a projector of two layers, which run where there
 * are images.
 */
#include "model/family/family_keys.h"
#include "model/family/family_list.h"
#include "model/vision/image_tokens.h"
#include "model/vision/llava_images.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 32000, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 11008, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 32, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    KV_HEADS_AS_HEADS,
    HEAD_DIM_FROM_HIDDEN,
    COUNT("max_position_embeddings", max_positions, 2048, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("attention_bias", attention_bias, false),
    BOOL("mlp_bias", mlp_bias, false),
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    IGNORED("pretraining_tp"), IGNORED("tie_word_embeddings"),
    DECODER_IGNORED,
};

static const ms_key whole_keys[] = {
    { .name = "tie_word_embeddings", .aliases = {"/text_config/tie_word_embeddings"},
      .kind = MS_KEY_BOOL, .offset = MEMBER(tie_word_embeddings) },
    { .name = "image_token_index", .aliases = {"image_token_id"}, .kind = MS_KEY_COUNT,
      .offset = MEMBER(image_token_id), .default_value = 32000, .maximum = MAX_VOCAB },
    { .name = "projector_hidden_act", .kind = MS_KEY_ACTIVATION,
      .offset = MEMBER(vision.projector_activation), .default_value = MS_ACTIVATION_GELU },
    CHOICE("vision_feature_select_strategy", vision.keeps_class, "default", "full"),
    { .name = "vision_feature_layer", .kind = MS_KEY_INTEGER, .offset = MEMBER(vision.feature_layer),
      .default_value = -2, .maximum = MAX_LAYERS },
    BOOL("multimodal_projector_bias", vision.projector_bias, true),
};

/* CLIP's own defaults: those of LLaVA stand in for the whole object alone. */
static const ms_key vision_keys[] = {
    COUNT("hidden_size", vision.hidden_size, 768, MAX_HIDDEN),
    COUNT("intermediate_size", vision.intermediate_size, 3072, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", vision.num_layers, 12, MAX_LAYERS),
    COUNT("num_attention_heads", vision.num_heads, 12, MAX_HEADS),
    COUNT("num_channels", vision.channels, 3, MAX_HEADS),
    COUNT("image_size", vision.image_size, 224, MAX_HIDDEN),
    COUNT("patch_size", vision.patch_size, 32, MAX_HEADS),
    { .name = "hidden_act", .kind = MS_KEY_ACTIVATION, .offset = MEMBER(vision.activation),
      .default_value = MS_ACTIVATION_QUICK_GELU },
    FRACTION("attention_dropout", vision.dropout, 0),
};
/* clang-format on */

/* Layers that run before the states that are projected, counted from the end where it is negative.
 */
static ms_status derive(ms_model_config *config, ms_error *err)
{
    ms_vision_config *vision = &config->vision;
    int64_t states = (int64_t)vision->num_layers + 1, layer = vision->feature_layer;
    if (layer < -states || layer >= states) {
        snprintf(err->pointer, sizeof err->pointer, "/vision_feature_layer");
        return ms_fail(err, MS_ERR_CONFIG,
                       "vision_feature_layer is %" PRId64 ", but the tower has %" PRIu64 " layers",
                       layer, vision->num_layers);
    }
    vision->feature_layers = (uint64_t)(layer < 0 ? layer + states : layer);
    return MS_OK;
}

static ms_status check(const ms_model_config *config, ms_error *err)
{
    if (config->vision.dropout > 0) {
        snprintf(err->pointer, sizeof err->pointer, "/vision_config/attention_dropout");
        return ms_fail(err, MS_ERR_CONFIG, "dropout in the tower is not supported");
    }
    if (config->image_token_id < config->vocab_size)
        return ms_check_heads_divide(config, err);
    snprintf(err->pointer, sizeof err->pointer, "/vocab_size");
    return ms_fail(err, MS_ERR_CONFIG,
                   "an image token of %" PRIu64 " beyond the vocabulary of %" PRIu64
                   " is not supported",
                   config->image_token_id, config->vocab_size);
}

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.qkv_bias = model->config->attention_bias,
                                                      .output_bias = model->config->attention_bias,
                                                      .mlp_bias = model->config->mlp_bias,
                                                      .build_towers = ms_llava_towers_new});
}

static void forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    if (model->run->images.count)
        ms_forward_with_features(model, in, out, ms_llava_run_with_images);
    else
        ms_decoder_forward(model, in, out);
}

static const ms_model_program program = {build, forward};

static const ms_key_table more[] = {
    {NULL, NULL, whole_keys, sizeof whole_keys / sizeof *whole_keys},
    {"vision_config", "clip_vision_model", vision_keys, sizeof vision_keys / sizeof *vision_keys},
};

const ms_family ms_family_llava = {
    .model_type = "llava",
    .classes = {{"LlavaForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .object = "text_config",
    .object_type = "llama",
    .more = more,
    .more_count = sizeof more / sizeof *more,
    .derive = derive,
    .check = check,
    .place_image = ms_llava_place_image,
    .image_input = MS_IMAGES_AS_PICTURES,
    .program = &program};
