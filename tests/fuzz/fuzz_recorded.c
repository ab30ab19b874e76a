/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A report of either kind, read back: what is accepted can be shown, and is equal to itself.
 */
#include <assert.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "decide/compare/compare.h"
#include "memscope/recorded.h"
#include "report/runtime/recorded_console.h"

static void write_all(const ms_recorded *r)
{
    const char *format;
    ms_error err = {0};
    FILE *out = fopen("/dev/null", "w");
    if (!out)
        return;
    (void)ms_recorded_console(r, out, &err);
    for (size_t i = 0; (format = ms_compare_format_at(i)) != NULL; i++)
        (void)ms_compare_write(r, r, format, out, &err);
    fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const ms_json_source source = {"fuzz.json", (const char *)data, size};
    ms_recorded r = {.style = {.columns = 80}};
    ms_compare_view view;
    ms_error err = {0};
    ms_arena *arena = ms_arena_create(8 << 20);
    if (ms_recorded_parse(&r, &source, &err) != MS_OK) {
        assert(err.text[0]);
    } else if (r.has_figures) {
        if (arena && ms_compare_view_make(arena, &r, &r, &view, &err) == MS_OK)
            assert(view.is_equal && !view.parting.has_parted && view.parting.from_start == 0);
        write_all(&r);
    }
    ms_recorded_close(&r);
    ms_arena_free(arena);
    return 0;
}
