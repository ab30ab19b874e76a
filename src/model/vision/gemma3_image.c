/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/gemma3_image.h"

#include <inttypes.h>

#include "input/config/model/model_config.h"

static uint64_t root_of(uint64_t square)
{
    uint64_t root = 0;
    while ((root + 1) * (root + 1) <= square)
        root++;
    return root;
}

ms_status ms_gemma3_place_image(const ms_model_config *config, const uint64_t sides[2],
                                ms_image_grid *grid, ms_error *err)
{
    (void)sides;
    const ms_vision_config *vision = &config->vision;
    uint64_t patches = vision->image_size / vision->patch_size, side = root_of(vision->tokens);
    if (vision->hidden_size % vision->num_heads != 0)
        return ms_fail(err, MS_ERR_CONFIG,
                       "the tower's %" PRIu64 " heads do not divide its %" PRIu64 " elements",
                       vision->num_heads, vision->hidden_size);
    if (vision->has_head)
        return ms_fail(err, MS_ERR_CONFIG,
                       "images are not predicted if the tower has a pooling head: vision_use_head "
                       "must be false");
    if (side == 0 || side * side != vision->tokens || patches < side ||
        patches / (patches / side) != side)
        return ms_fail(err, MS_ERR_CONFIG,
                       "%" PRIu64 "x%" PRIu64 " patches cannot be pooled into %" PRIu64 " tokens",
                       patches, patches, vision->tokens);
    *grid = (ms_image_grid){.rows = patches, .columns = patches, .tokens = vision->tokens};
    return MS_OK;
}
