/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * LLaVA 1.5: families/llava.family has its keys, modules and calls.
 */
#include <inttypes.h>

#include "input/config/model/model_config.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"

/* A family's `place_image`: of any size the processor makes a picture of the tower's, each patch of
 * which is a token; so is the class token where features are "full". */
static ms_status llava_place_image(const ms_model_config *config, const uint64_t sides[2],
                                   ms_image_grid *grid, ms_error *err)
{
    (void)sides;
    const ms_vision_config *vision = &config->vision;
    uint64_t side = vision->image_size / vision->patch_size;
    if (vision->hidden_size % vision->num_heads != 0)
        return ms_fail(err, MS_ERR_CONFIG,
                       "the tower's %" PRIu64 " heads do not divide its %" PRIu64 " elements",
                       vision->num_heads, vision->hidden_size);
    if (side == 0)
        return ms_fail(err, MS_ERR_CONFIG,
                       "the tower's patches of %" PRIu64 " pixels are larger than its pictures of "
                       "%" PRIu64,
                       vision->patch_size, vision->image_size);
    if (vision->feature_layer == 0)
        return ms_fail(err, MS_ERR_CONFIG,
                       "transformers takes a vision_feature_layer of 0 for none and stops: count "
                       "from the end");
    *grid = (ms_image_grid){
        .rows = side, .columns = side, .tokens = side * side + (vision->keeps_class ? 1 : 0)};
    return MS_OK;
}

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

const ms_family ms_family_llava = {
    .model_type = "llava",
    .classes = {{"LlavaForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .derive = derive,
    .check = check,
    .place_image = llava_place_image,
    .image_input = MS_IMAGES_AS_PICTURES,
    .text_name = "llava"};
