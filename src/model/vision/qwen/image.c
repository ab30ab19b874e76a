/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/qwen/image.h"

#include <inttypes.h>
#include <math.h>

#include "input/config/model/model_config.h"

enum { MOST_RATIO = 200 };

/* Of the published preprocessor_config.json. */
typedef struct limits {
    uint64_t least, most; /* pixels of an image */
} limits;
static const limits of_qwen2 = {3136, 12845056}, of_qwen3 = {65536, 16777216};

/* Python's round(): halves go to the even number. */
static uint64_t rounded(uint64_t side, uint64_t factor)
{
    uint64_t whole = side / factor, twice = 2 * (side % factor);
    bool is_up = twice > factor || (twice == factor && whole % 2 == 1);
    return (whole + (is_up ? 1 : 0)) * factor;
}

static uint64_t shrunk(uint64_t side, double beta, uint64_t factor)
{
    uint64_t steps = (uint64_t)floor((double)side / beta / (double)factor);
    return (steps > 0 ? steps : 1) * factor;
}

static uint64_t grown(uint64_t side, double beta, uint64_t factor)
{
    return (uint64_t)ceil((double)side * beta / (double)factor) * factor;
}

static void resize(const uint64_t sides[2], uint64_t factor, limits pixels_of, uint64_t out[2])
{
    double pixels = (double)sides[0] * (double)sides[1];
    for (int i = 0; i < 2; i++)
        out[i] = rounded(sides[i], factor);
    uint64_t made = out[0] * out[1];
    for (int i = 0; i < 2; i++)
        if (made > pixels_of.most)
            out[i] = shrunk(sides[i], sqrt(pixels / (double)pixels_of.most), factor);
        else if (made < pixels_of.least)
            out[i] = grown(sides[i], sqrt((double)pixels_of.least / pixels), factor);
}

static ms_status place(const ms_model_config *config, const uint64_t sides[2], limits pixels,
                       ms_image_grid *grid, ms_error *err)
{
    const ms_vision_config *vision = &config->vision;
    uint64_t factor = vision->patch_size * vision->merge_size, out[2];
    if (sides[0] == 0)
        return ms_fail(err, MS_ERR_CONFIG,
                       "images need a size: give one, such as image-size 1280x720");
    if (sides[0] > MOST_RATIO * sides[1] || sides[1] > MOST_RATIO * sides[0])
        return ms_fail(err, MS_ERR_CONFIG,
                       "the processor refuses %" PRIu64 "x%" PRIu64
                       ": one side is more than %d times the other",
                       sides[0], sides[1], MOST_RATIO);
    if (vision->hidden_size % (4 * vision->num_heads) != 0)
        return ms_fail(
            err, MS_ERR_CONFIG,
            "the width of the tower's heads, %" PRIu64 " for %" PRIu64
            " elements, is not a multiple of 4, so it cannot apply rotary embeddings to them",
            vision->num_heads, vision->hidden_size);
    if (vision->out_size != config->hidden_size)
        return ms_fail(err, MS_ERR_CONFIG,
                       "the tower's tokens are %" PRIu64 " wide, but the text model's are %" PRIu64,
                       vision->out_size, config->hidden_size);
    resize(sides, factor, pixels, out);
    *grid = (ms_image_grid){.columns = out[0] / vision->patch_size,
                            .rows = out[1] / vision->patch_size};
    grid->tokens = grid->rows * grid->columns / (vision->merge_size * vision->merge_size);
    return MS_OK;
}

ms_status ms_qwen2_place_image(const ms_model_config *config, const uint64_t sides[2],
                               ms_image_grid *grid, ms_error *err)
{
    return place(config, sides, of_qwen2, grid, err);
}

ms_status ms_qwen2_5_place_image(const ms_model_config *config, const uint64_t sides[2],
                                 ms_image_grid *grid, ms_error *err)
{
    const ms_vision_config *vision = &config->vision;
    if (vision->window_size / vision->merge_size / vision->patch_size == 0)
        return ms_fail(err, MS_ERR_CONFIG,
                       "the tower's windows of %" PRIu64 " pixels are smaller than %" PRIu64
                       " merged patches",
                       vision->window_size, vision->merge_size);
    return place(config, sides, of_qwen2, grid, err);
}

ms_status ms_qwen3_place_image(const ms_model_config *config, const uint64_t sides[2],
                               ms_image_grid *grid, ms_error *err)
{
    const ms_vision_config *vision = &config->vision;
    uint64_t count = 0, end = vision->num_layers;
    for (uint64_t i = 0; i < MS_MOST_BLOCKS; i++)
        if (vision->marked_blocks[i / 64] >> i % 64 & 1) {
            count++;
            end = i >= end ? i + 1 : end;
        }
    if (end > vision->num_layers || count > config->num_layers)
        return ms_fail(err, MS_ERR_CONFIG,
                       "deepstack_visual_indexes has blocks that the tower does not have, or more "
                       "than the text model has layers");
    return place(config, sides, of_qwen3, grid, err);
}
