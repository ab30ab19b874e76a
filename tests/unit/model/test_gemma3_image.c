/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What Gemma 3's processor and tower make of an image: a picture of the tower's size, whose patches
 * are pooled into so many tokens as the config says.
 */
#include "model/vision/gemma3_image.h"

#include "input/config/model/model_config.h"
#include "unit/support.h"

static ms_model_config config(void)
{
    return (ms_model_config){.hidden_size = 2560,
                             .vision = {.hidden_size = 1152,
                                        .num_heads = 16,
                                        .image_size = 896,
                                        .patch_size = 14,
                                        .tokens = 256}};
}

static void every_size_gives_the_same_tokens(void **state)
{
    (void)state;
    static const uint64_t sides[][2] = {{0, 0}, {896, 896}, {1280, 720}, {1, 16384}};
    const ms_model_config model = config();
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        ms_image_grid grid;
        assert_int_equal(ms_gemma3_place_image(&model, sides[i], &grid, NULL), MS_OK);
        assert_int_equal(grid.rows, 64);
        assert_int_equal(grid.columns, 64);
        assert_int_equal(grid.tokens, 256);
    }
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    const uint64_t sides[2] = {0};
    ms_image_grid grid;
    ms_model_config many = config(), uneven = config(), odd = config(), pools = config();
    ms_model_config rest = config();
    many.vision.tokens = 65 * 65; /* more than there are patches */
    uneven.vision.tokens = 250;   /* no square */
    odd.vision.num_heads = 7;     /* do not divide the width */
    pools.vision.has_head = true; /* which is not run */
    rest.vision.tokens = 24 * 24; /* windows of 2 patches make 32 x 32 */
    const ms_model_config *const refused[] = {&many, &uneven, &odd, &pools, &rest};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        assert_int_not_equal(ms_gemma3_place_image(refused[i], sides, &grid, NULL), MS_OK);
}

/* 9 x 9 patches in windows of 2 leave one at the edge, as avg_pool2d does. */
static void a_rest_at_the_edge_is_left_out(void **state)
{
    (void)state;
    const uint64_t sides[2] = {0};
    ms_image_grid grid;
    ms_model_config model = config();
    model.vision.image_size = 9 * 14 + 3;
    model.vision.tokens = 16;
    assert_int_equal(ms_gemma3_place_image(&model, sides, &grid, NULL), MS_OK);
    assert_int_equal(grid.rows, 9);
    assert_int_equal(grid.tokens, 16);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_gives_the_same_tokens),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(a_rest_at_the_edge_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
