/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/gemma4_image.h"

#include <inttypes.h>
#include <math.h>

#include "input/config/model/model_config.h"

enum { MOST_TOKENS = 280 }; /* max_soft_tokens of the published processors */

static ms_status check_tower(const ms_vision_config *vision, ms_error *err)
{
    if (vision->num_heads % vision->num_kv_heads != 0)
        return ms_fail(err, MS_ERR_CONFIG,
                       "the tower's %" PRIu64 " key heads do not divide its %" PRIu64 " heads",
                       vision->num_kv_heads, vision->num_heads);
    if (vision->head_dim % 4 != 0)
        return ms_fail(
            err, MS_ERR_CONFIG,
            "the tower's heads are %" PRIu64
            " wide, which is not a multiple of 4, so it cannot apply rotary embeddings to them",
            vision->head_dim);
    if (vision->pool_size == 1)
        return ms_fail(err, MS_ERR_CONFIG,
                       "images without pooling are not predicted, but pooling_kernel_size is 1");
    if (vision->dropout > 0)
        return ms_fail(err, MS_ERR_CONFIG,
                       "images with dropout in the tower's attention are not predicted");
    return MS_OK;
}

/* Squares along a side that is so long. */
static uint64_t squares(double factor, uint64_t side, uint64_t square)
{
    return (uint64_t)floor(factor * (double)side / (double)square);
}

/* One square across, and as many along as the ratio of the sides, but no more than there may be. */
static uint64_t along(uint64_t side, uint64_t other)
{
    uint64_t ratio = side / other;
    return ratio < MOST_TOKENS ? ratio : MOST_TOKENS;
}

ms_status ms_gemma4_place_image(const ms_model_config *config, const uint64_t sides[2],
                                ms_image_grid *grid, ms_error *err)
{
    const ms_vision_config *vision = &config->vision;
    uint64_t square = vision->pool_size * vision->patch_size;
    uint64_t stored = MOST_TOKENS * vision->pool_size * vision->pool_size;
    ms_status status = check_tower(vision, err);
    if (status != MS_OK)
        return status;
    if (sides[0] == 0)
        return ms_fail(err, MS_ERR_CONFIG,
                       "images need a size: give one, such as image-size 1280x720");
    double most = (double)stored * (double)(vision->patch_size * vision->patch_size);
    double factor = sqrt(most / ((double)sides[0] * (double)sides[1]));
    uint64_t columns = squares(factor, sides[0], square), rows = squares(factor, sides[1], square);
    if (rows == 0) {
        rows = 1;
        columns = along(sides[0], sides[1]);
    } else if (columns == 0) {
        columns = 1;
        rows = along(sides[1], sides[0]);
    }
    if (rows * vision->pool_size > vision->positions ||
        columns * vision->pool_size > vision->positions)
        return ms_fail(err, MS_ERR_CONFIG,
                       "an image of %" PRIu64 "x%" PRIu64
                       " patches does not fit the tower's %" PRIu64 " positions for each side",
                       columns * vision->pool_size, rows * vision->pool_size, vision->positions);
    *grid = (ms_image_grid){.rows = rows * vision->pool_size,
                            .columns = columns * vision->pool_size,
                            .tokens = rows * columns,
                            .stored = stored};
    return MS_OK;
}
