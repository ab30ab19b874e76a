/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/view/fit_words.h"

#include <inttypes.h>

#include "base/text/number.h"

const char ms_fit_why_label[] = "Why:";

typedef struct told {
    ms_fit_verdict verdict;
    ms_fit_reason reason;
    bool is_known, fits;
} told;

static const ms_member told_members[] = {
    MS_MEMBER(told, "fits", fits, .rules = MS_OR_NULL, .when = MS_PLACE(told, is_known)),
    MS_MEMBER(told, "verdict", verdict, .words = &ms_verdict_words),
    MS_MEMBER(told, "verdict_reason", reason, .words = &ms_reason_words),
};
const ms_members ms_fit_table = MS_MEMBERS(told, told_members);

void ms_fit_make(const void *reason, void *made)
{
    const ms_fit_reason *r = reason;
    const ms_fit_verdict verdict = ms_reason_verdict(*r);
    *(told *)made = (told){verdict, *r, verdict != MS_VERDICT_UNKNOWN, ms_reason_fits(*r)};
}

void ms_fit_json(ms_json_writer *w, ms_fit_reason reason)
{
    told t;
    ms_fit_make(&reason, &t);
    ms_members_write(w, &ms_fit_table, &t);
}

const char *ms_fit_cell(ms_fit_reason reason)
{
    return ms_fit_verdict_name(ms_reason_verdict(reason));
}

const char *ms_fits_cell(ms_fit_reason reason)
{
    if (ms_reason_verdict(reason) == MS_VERDICT_UNKNOWN)
        return "";
    return ms_reason_fits(reason) ? "true" : "false";
}

/* " (18.20 GiB at most, 0.30 too much)", " (6 times)", "" */
static const char *figures_text(ms_arena *arena, const ms_fit_facts *f)
{
    char high[MS_GIB_TEXT], over[MS_GIB_TEXT];
    if (f->reason == MS_FIT_UPPER_END)
        return ms_arena_printf(arena, " (%s GiB, %s too much)", ms_gib(f->high_device_bytes, high),
                               ms_gib(f->high_device_bytes - f->budget_bytes, over));
    if (f->reason == MS_FIT_RETRIES && f->retries)
        return ms_arena_printf(arena, " (%" PRIu64 " time%s from the first step on)", f->retries,
                               f->retries == 1 ? "" : "s");
    return "";
}

const char *ms_fit_why(ms_arena *arena, const ms_fit_facts *f)
{
    const char *advice = ms_fit_reason_advice(f->reason);
    if (ms_reason_verdict(f->reason) != MS_VERDICT_TIGHT && f->reason != MS_FIT_NO_ROOM)
        return "";
    const char *figures = figures_text(arena, f);
    return figures
               ? ms_arena_printf(arena, "%s%s; %s", ms_fit_reason_text(f->reason), figures, advice)
               : NULL;
}
