/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A calibration: what is accepted can be applied and told of. And the same bytes as a table of
 * measured steps, and as measured links: what is accepted can be fitted, or refused in a sentence.
 */
#include <assert.h>
#include <string.h>

#include "decide/calibrate/fit_memory.h"
#include "decide/calibrate/links.h"
#include "fuzz/fuzz.h"

static void use(ms_arena *arena, ms_json_value root)
{
    ms_calibration calibration;
    ms_calibration_note note;
    ms_device device = {.name = "x"};
    ms_error err = {0};
    if (ms_calibration_read(arena, root, &calibration, &err) != MS_OK) {
        assert(err.text[0]);
        return;
    }
    ms_calibration_apply(&calibration, &device);
    assert(device.margin_ppm <= 10000000);
    assert(ms_device_used_bytes(&device, 1 << 20, 0) >= 1 << 20);
    for (size_t i = 0; ms_calibration_note_at(arena, &calibration, i, &note); i++)
        assert(note.text[0] && note.figures[0]);
}

static const ms_device device = {.name = "x",
                                 .context_expected_bytes = 1,
                                 .memory_bytes_per_s = 1e12,
                                 .bf16_flops = 1e14,
                                 .fp32_flops = 1e13};

static void fit_points(ms_arena *arena, const ms_measured_points *points)
{
    ms_calibration_result result;
    ms_error err = {0};
    if (points->count == 0 || points->count >= 200)
        return;
    ms_status status = ms_calibration_fit(arena, points, &device, &result, &err);
    assert(status == MS_OK || err.text[0]);
    for (int i = 0; status == MS_OK && i < MS_PARAMETER_COUNT; i++) {
        const ms_fitted *f = &result.calibration.parameters[i];
        assert(f->points == 0 || (f->low <= f->value && f->value <= f->high));
    }
}

static void fit(ms_arena *arena, char *text)
{
    ms_measured_points points = {0};
    ms_error err = {0};
    if (ms_measured_points_read(arena, "fuzz.csv", text, &points, &err) == MS_OK)
        fit_points(arena, &points);
    else
        assert(err.text[0]);
    ms_vec_free(&points);
}

static void fit_links(ms_arena *arena, ms_json_value root)
{
    const ms_report_pair file = {
        .measured = root, .name = "fuzz.json", .devices = &device, .device_count = 1};
    ms_measured_points points = {0};
    ms_error err = {0};
    (void)ms_measured_links_is(root);
    if (ms_measured_links_read(arena, &file, &points, &err) == MS_OK)
        fit_points(arena, &points);
    else
        assert(err.text[0]);
    ms_vec_free(&points);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const ms_json_source source = {"fuzz.json", (const char *)data, size};
    ms_json *document = NULL;
    ms_error err = {0};
    ms_arena *arena = ms_arena_create(8 << 20);
    char *text = arena ? ms_arena_alloc(arena, size + 1, 1) : NULL;
    if (text && ms_json_parse(&source, &document, &err) == MS_OK) {
        use(arena, ms_json_root(document));
        fit_links(arena, ms_json_root(document));
    }
    if (text && size > 0) {
        memcpy(text, data, size);
        fit(arena, text);
    }
    ms_json_free(document);
    ms_arena_free(arena);
    return 0;
}
