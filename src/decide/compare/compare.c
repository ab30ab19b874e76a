/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/compare/compare.h"

#include "decide/compare/compare_parting.h"
#include "decide/compare/compare_rows.h"
#include "decide/compare/compare_verdict.h"

ms_status ms_compare_view_make(ms_arena *arena, const ms_recorded *first, const ms_recorded *second,
                               ms_compare_view *view, ms_error *err)
{
    *view = (ms_compare_view){.first = first, .second = second, .arena = arena};
    bool ok = ms_compare_rows_make(view);
    if (ok)
        ms_compare_parting_find(view);
    ok = ok && ms_compare_verdict_make(view);
    return ok ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "out of memory for a comparison");
}
