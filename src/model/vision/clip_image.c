/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/clip_image.h"

#include <inttypes.h>

#include "input/config/model/model_config.h"

/* A family's `place_image`: of any size the processor makes a picture of the tower's, each patch of
 * which is a token; so is the class token where features are "full". */
ms_status ms_clip_place_image(const ms_model_config *config, const uint64_t sides[2],
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
                       "transformers takes a vision_feature_layer of 0 for none and fails: count "
                       "from the end");
    *grid = (ms_image_grid){
        .rows = side, .columns = side, .tokens = side * side + (vision->keeps_class ? 1 : 0)};
    return MS_OK;
}
