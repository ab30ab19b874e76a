/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 3: families/gemma3_text.family has keys, modules and calls of its text model. The larger
 * models have a vision tower, which runs where there are images; their text model is here.
 */
#include "input/config/model/layer_kinds.h"
#include "input/config/model/family.h"
#include "model/blocks/attention/masks.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "model/dense/gemma.h"
#include "model/vision/gemma3_images.h"
#include "model/vision/image_tokens.h"

/* clang-format off */
/* Of the text model in a file that also has a vision tower: its head is the whole model's. */
static const ms_key nested_text_keys[] = {
    COUNT("vocab_size", vocab_size, 262208, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 2304, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 9216, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 26, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 8, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 4, MAX_HEADS),
    COUNT("head_dim", head_dim, 256, MAX_HEAD_DIM),
    COUNT("max_position_embeddings", max_positions, 131072, MAX_POSITIONS),
    ACTIVATION("hidden_activation", MS_ACTIVATION_GELU_TANH),
    BOOL("attention_bias", attention_bias, false),
    COUNT("sliding_window", sliding_window, 4096, MAX_POSITIONS),
    COUNT("sliding_window_pattern", sliding_pattern, 6, MAX_LAYERS),
    LAYER_TYPES,
    FRACTION("attention_dropout", attention_dropout, 0),
    FIXED("use_bidirectional_attention", false),
    PAD_TOKEN,
    IGNORED("attn_logit_softcapping"),  /* the class does not pass it on */
    IGNORED("_sliding_window_pattern"), /* written next to layer_types, and not read */
    IGNORED("query_pre_attn_scalar"),
    IGNORED("rope_local_base_freq"),
    DECODER_IGNORED,
    IGNORED("tie_word_embeddings"),
    IGNORED("final_logit_softcapping"),
};

static const ms_key whole_keys[] = {
    BOOL("tie_word_embeddings", tie_word_embeddings, true),
    { .name = "image_token_index", .aliases = {"image_token_id"}, .kind = MS_KEY_COUNT,
      .offset = MEMBER(image_token_id), .default_value = 262144, .maximum = MAX_VOCAB },
    COUNT("mm_tokens_per_image", vision.tokens, 256, MAX_POSITIONS),
};

static const ms_key vision_keys[] = {
    COUNT("hidden_size", vision.hidden_size, 768, MAX_HIDDEN),
    COUNT("intermediate_size", vision.intermediate_size, 3072, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", vision.num_layers, 12, MAX_LAYERS),
    COUNT("num_attention_heads", vision.num_heads, 12, MAX_HEADS),
    COUNT("num_channels", vision.channels, 3, MAX_HEADS),
    COUNT("image_size", vision.image_size, 224, MAX_HIDDEN),
    COUNT("patch_size", vision.patch_size, 16, MAX_HEADS),
    BOOL("vision_use_head", vision.has_head, true),
    { .name = "hidden_act", .kind = MS_KEY_ACTIVATION, .offset = MEMBER(vision.activation),
      .default_value = MS_ACTIVATION_GELU_TANH },
};
/* clang-format on */

static uint8_t layer_kind(const ms_model_config *config, uint64_t layer)
{
    return (layer + 1) % config->sliding_pattern ? MS_LAYER_SLIDES : 0;
}

static ms_decoder_style style_of(const ms_model_config *config)
{
    ms_decoder_style style = ms_gemma2_style(config);
    style.head_norms = MS_HEAD_NORMS_LAST;
    style.rotary_by_kind = true;
    return style;
}

/* ---- with a vision tower ---- */

static bool build_whole(ms_model *model)
{
    ms_decoder_style style = style_of(model->config);
    style.build_towers = ms_gemma3_towers_new;
    return ms_decoder_build(model, style);
}

/* Those that layers need, before there are positions that could be packed. */
static void make_masks(ms_model *model, ms_decoder *d, ms_locals *f)
{
    d->full_mask = d->sliding_mask = 0;
    if (ms_model_has_layers_but(model->config, MS_LAYER_SLIDES))
        d->full_mask = *ms_local(f, ms_causal_mask(model, 0, false));
    if (ms_model_has_layers(model->config, MS_LAYER_SLIDES))
        d->sliding_mask = *ms_local(f, ms_causal_mask(model, 0, true));
}

/* The whole model embeds the ids and makes the masks. */
static ms_tensor run_whole(ms_model *model, ms_decoder *d, ms_tensor ids)
{
    uint32_t previous = ms_scope_enter(model->tape, d->scope);
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor *embeds = ms_local(&f, 0);
    ms_assign(&f, embeds, ms_decoder_embed(model, d, ids));
    make_masks(model, d, &f);
    ms_local(&f, *embeds); /* among the masks' arguments */
    ms_tensor *hidden = ms_local(&f, ms_gemma3_run_text(model, d, *embeds));
    ms_tensor result = ms_locals_end(&f, hidden);
    model->tape->scope = previous;
    return result;
}

/* The whole model, with images where there are any. */
static ms_tensor run(ms_model *model, ms_decoder *d, ms_tensor ids, ms_tensor *features)
{
    return model->run->images.count ? ms_gemma3_run_with_images(model, d, ids, features)
                                    : run_whole(model, d, ids);
}

static void forward_whole(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    if (in->labels && model->run->treatments.loss_chunks > 1) /* calls the text model itself */
        ms_decoder_forward(model, in, out);
    else
        ms_forward_with_features(model, in, out, run);
}

static ms_status check_whole(const ms_model_config *config, ms_error *err)
{
    if (config->image_token_id < config->vocab_size)
        return ms_check_heads_divide(config, err);
    snprintf(err->pointer, sizeof err->pointer, "/vocab_size");
    return ms_fail(err, MS_ERR_CONFIG,
                   "an image token of %" PRIu64 " beyond the vocabulary of %" PRIu64
                   " is not supported",
                   config->image_token_id, config->vocab_size);
}

static const ms_key_table more[] = {
    {NULL, NULL, whole_keys, sizeof whole_keys / sizeof *whole_keys},
    {"vision_config", "siglip_vision_model", vision_keys, sizeof vision_keys / sizeof *vision_keys},
};

static const ms_model_program whole_program = {build_whole, forward_whole};

static const ms_family_facts gemma3_facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .has_head_norms = true,
    .liger = {.kernels = MS_LIGER_ALL,
              .norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST | MS_LIGER_IS_HEADS,
              .copying_norms = MS_LIGER_IS_LAYER | MS_LIGER_IS_LAST | MS_LIGER_IS_HEADS,
              .logits_share = 1},
    .llama_cpp = "gemma3",
};

const ms_family ms_family_gemma3 = {
    .model_type = "gemma3",
    .facts = &gemma3_facts,
    .classes = {{"Gemma3ForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .keys = nested_text_keys,
    .key_count = sizeof nested_text_keys / sizeof *nested_text_keys,
    .object = "text_config",
    .object_type = "gemma3_text",
    .more = more,
    .more_count = sizeof more / sizeof *more,
    .check = check_whole,
    .layer_kind = layer_kind,
    .place_image = ms_gemma3_place_image,
    .image_input = MS_IMAGES_WITH_KINDS,
    .unpredicted = MS_UNPREDICTED_IMAGES_ON_RANKS,
    .program = &whole_program};
