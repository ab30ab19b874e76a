/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What Qwen's processor and tower make of an image: grids as smart_resize of transformers 5.23
 * gives them, and windows.
 */
#include "model/vision/qwen/image.h"

#include "input/config/model/model_config.h"
#include "unit/support.h"

static ms_model_config config(void)
{
    return (ms_model_config){.hidden_size = 2048,
                             .vision = {.hidden_size = 1280,
                                        .num_heads = 16,
                                        .patch_size = 14,
                                        .merge_size = 2,
                                        .out_size = 2048,
                                        .window_size = 112}};
}

static void sides_are_rounded(void **state)
{
    (void)state;
    static const struct {
        uint64_t sides[2], columns, rows;
    } rows[] = {
        {{1280, 720}, 92, 52},      {{300, 300}, 22, 22}, {{30, 30}, 4, 4},
        {{5000, 5000}, 254, 254},   {{42, 70}, 4, 4},     {{8000, 100}, 572, 8},
        {{16384, 16384}, 256, 256}, {{1, 1}, 4, 4},       {{14, 2800}, 2, 58},
        {{57, 55}, 4, 4},           {{640, 480}, 46, 34},
    };
    const ms_model_config model = config();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ms_image_grid grid;
        assert_int_equal(ms_qwen2_5_place_image(&model, rows[i].sides, &grid, NULL), MS_OK);
        assert_int_equal(grid.columns, rows[i].columns);
        assert_int_equal(grid.rows, rows[i].rows);
        assert_int_equal(grid.tokens, rows[i].columns * rows[i].rows / 4);
    }
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    const ms_model_config model = config();
    ms_model_config narrow = model, odd = model, small = model;
    ms_image_grid grid;
    narrow.hidden_size = 1024;
    odd.vision.num_heads = 64;
    odd.vision.hidden_size = 384;
    small.vision.window_size = 20;
    const uint64_t none[2] = {0}, thin[] = {5000, 10}, fine[] = {280, 280};
    assert_int_not_equal(ms_qwen2_5_place_image(&model, none, &grid, NULL), MS_OK);
    assert_int_not_equal(ms_qwen2_5_place_image(&model, thin, &grid, NULL), MS_OK);
    assert_int_not_equal(ms_qwen2_5_place_image(&narrow, fine, &grid, NULL), MS_OK);
    assert_int_not_equal(ms_qwen2_5_place_image(&odd, fine, &grid, NULL), MS_OK);
    assert_int_not_equal(ms_qwen2_5_place_image(&small, fine, &grid, NULL), MS_OK);
    assert_int_equal(ms_qwen2_5_place_image(&model, fine, &grid, NULL), MS_OK);
    assert_int_equal(ms_qwen2_place_image(&small, fine, &grid, NULL), MS_OK); /* has no windows */
    assert_int_not_equal(ms_qwen2_place_image(&narrow, fine, &grid, NULL), MS_OK);
}

static void limits_of_qwen3_are_others(void **state)
{
    (void)state;
    static const struct {
        uint64_t sides[2], columns, rows;
    } rows[] = {
        {{1280, 720}, 80, 44}, {{256, 256}, 16, 16},     {{30, 30}, 16, 16},
        {{640, 480}, 40, 30},  {{5000, 5000}, 256, 256}, {{48, 80}, 14, 22},
    };
    ms_model_config model = config();
    model.num_layers = 2;
    model.vision.patch_size = 16;
    model.vision.num_layers = 24;
    ms_image_grid grid;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(ms_qwen3_place_image(&model, rows[i].sides, &grid, NULL), MS_OK);
        assert_int_equal(grid.columns, rows[i].columns);
        assert_int_equal(grid.rows, rows[i].rows);
    }
    model.vision.marked_blocks[0] = 1 << 5 | 1 << 11;
    assert_int_equal(ms_qwen3_place_image(&model, rows[0].sides, &grid, NULL), MS_OK);
    model.vision.marked_blocks[0] = 1 << 24; /* the tower ends before */
    assert_int_not_equal(ms_qwen3_place_image(&model, rows[0].sides, &grid, NULL), MS_OK);
    model.vision.marked_blocks[0] = 7; /* more than the text model has layers */
    assert_int_not_equal(ms_qwen3_place_image(&model, rows[0].sides, &grid, NULL), MS_OK);
}

/* All patches are in a window, and the tower lists the empty ones as well. */
static void windows_hold_all_patches(void **state)
{
    (void)state;
    const ms_model_config model = config();
    for (uint64_t rows = 2; rows < 40; rows += 2) {
        const ms_image_grid grid = {.rows = rows, .columns = 32};
        const ms_qwen_windows w = ms_qwen_windows_of(&model.vision, &grid);
        uint64_t patches = 0;
        for (uint64_t r = 0; r < w.rows; r++)
            for (uint64_t c = 0; c < w.columns; c++)
                patches += ms_qwen_window_patches(&model.vision, &grid, r, c);
        assert_int_equal(patches, rows * 32);
        assert_int_equal(w.columns, 4);
        assert_int_equal(w.listed, (rows / 8 + 1) * 5);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(sides_are_rounded),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(limits_of_qwen3_are_others),
        cmocka_unit_test(windows_hold_all_patches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
