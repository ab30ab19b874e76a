/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A report: what is accepted can be compared, and does not differ from itself.
 */
#include <assert.h>

#include "decide/diff/diff.h"
#include "fuzz/fuzz.h"

static void compare(ms_arena *arena, ms_json_value root, ms_error *err)
{
    ms_report report, other = {.name = "", .device = "", .peak_phase = ""};
    ms_diff diff;
    (void)ms_report_is_one(root);
    if (ms_report_read(arena, root, &report, err) != MS_OK) {
        assert(err->text[0]);
        return;
    }
    assert(report.name && report.device && report.peak_phase);
    if (ms_diff_make(arena, &report, &report, &diff, err) == MS_OK)
        assert(diff.is_same);
    if (ms_diff_make(arena, &other, &report, &diff, err) == MS_OK)
        assert(diff.settings_count == report.settings.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ms_json_source source = {"fuzz.json", (const char *)data, size};
    ms_json *document = NULL;
    ms_arena *arena = ms_arena_create(8 << 20);
    ms_error err = {0};
    if (arena && ms_json_parse(&source, &document, &err) == MS_OK)
        compare(arena, ms_json_root(document), &err);
    ms_json_free(document);
    ms_arena_free(arena);
    return 0;
}
