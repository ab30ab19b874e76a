/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What Gemma 4's processor makes of an image: expected values by its own function,
 * get_aspect_ratio_preserving_size of transformers 5.23.
 */
#include "model/vision/gemma4_image.h"

#include "input/config/model/model_config.h"
#include "unit/support.h"

static ms_model_config config(uint64_t patch_size, uint64_t pool_size)
{
    return (ms_model_config){.hidden_size = 1536,
                             .vision = {.hidden_size = 768,
                                        .num_heads = 12,
                                        .num_kv_heads = 12,
                                        .head_dim = 64,
                                        .patch_size = patch_size,
                                        .pool_size = pool_size,
                                        .positions = 10240}};
}

static void sizes_are_those_of_the_processor(void **state)
{
    (void)state;
    static const struct {
        uint64_t sides[2], patch_size, pool_size, rows, columns, tokens;
    } rows[] = {
        {{1280, 720}, 16, 3, 36, 66, 264},  {{640, 480}, 16, 3, 42, 57, 266},
        {{960, 672}, 16, 3, 42, 60, 280},   {{100, 1000}, 16, 3, 156, 15, 260},
        {{4000, 10}, 16, 3, 3, 840, 280},   {{10, 9000}, 16, 3, 840, 3, 280},
        {{48, 48}, 16, 3, 48, 48, 256},     {{333, 777}, 14, 2, 50, 20, 250},
        {{20000, 20}, 16, 3, 3, 840, 280},  {{1, 1}, 16, 3, 48, 48, 256},
        {{5000, 4999}, 16, 2, 32, 32, 256},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const ms_model_config model = config(rows[i].patch_size, rows[i].pool_size);
        ms_image_grid grid;
        assert_int_equal(ms_gemma4_place_image(&model, rows[i].sides, &grid, NULL), MS_OK);
        assert_int_equal(grid.rows, rows[i].rows);
        assert_int_equal(grid.columns, rows[i].columns);
        assert_int_equal(grid.tokens, rows[i].tokens);
        assert_int_equal(grid.stored, 280 * rows[i].pool_size * rows[i].pool_size);
    }
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    const uint64_t sides[2] = {640, 480}, none[2] = {0}, long_sides[2] = {4000, 10};
    ms_image_grid grid;
    ms_model_config keys = config(16, 3), odd = config(16, 3), alone = config(16, 1);
    ms_model_config drops = config(16, 3), few = config(16, 3);
    const ms_model_config plain = config(16, 3);
    keys.vision.num_kv_heads = 5; /* do not divide the heads */
    odd.vision.head_dim = 66;     /* no multiple of 4 */
    drops.vision.dropout = 0.1;
    few.vision.positions = 839;
    assert_int_not_equal(ms_gemma4_place_image(&keys, sides, &grid, NULL), MS_OK);
    assert_int_not_equal(ms_gemma4_place_image(&odd, sides, &grid, NULL), MS_OK);
    assert_int_not_equal(ms_gemma4_place_image(&alone, sides, &grid, NULL), MS_OK);
    assert_int_not_equal(ms_gemma4_place_image(&drops, sides, &grid, NULL), MS_OK);
    assert_int_not_equal(ms_gemma4_place_image(&few, long_sides, &grid, NULL), MS_OK);
    assert_int_not_equal(ms_gemma4_place_image(&plain, none, &grid, NULL), MS_OK);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_those_of_the_processor),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
