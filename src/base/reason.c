/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/reason.h"

#include <stddef.h>
#include <string.h>

static const char *const verdict_names[] = {[MS_VERDICT_NO] = "no",
                                            [MS_VERDICT_UNKNOWN] = "unknown",
                                            [MS_VERDICT_TIGHT] = "tight",
                                            [MS_VERDICT_FITS] = "fits"};

static const struct {
    ms_fit_verdict verdict;
    const char *name, *text, *advice;
} reasons[] = {
    [MS_FIT_OVER_BUDGET] = {MS_VERDICT_NO, "over-budget", "the expected memory exceeds the budget",
                            "memscope analyze shows what makes it fit"},
    [MS_FIT_NO_ROOM] = {MS_VERDICT_NO, "no-room",
                        "the allocator runs out of memory during the run, although a steady step "
                        "reserves less than the budget",
                        "memscope analyze shows what makes it fit"},
    [MS_FIT_RETRIES] =
        {MS_VERDICT_TIGHT, "allocator-retries",
         "it fits only because the allocator returns cached memory to make room",
         "each return waits for the device; to be safe, leave more memory free with a smaller "
         "batch, another allocator, or a plan for a smaller budget (memscope plan)"},
    [MS_FIT_UPPER_END] = {MS_VERDICT_TIGHT, "upper-end",
                          "the expected value fits, but not the upper end of the estimate",
                          "to be safe, leave that much more memory free with a smaller batch or a "
                          "plan for a smaller budget (memscope plan), or calibrate the device"},
    [MS_FIT_WITHIN_BUDGET] = {MS_VERDICT_FITS, "within-budget",
                              "the upper end of the estimate is within the budget", ""},
    [MS_FIT_NO_BUDGET] = {MS_VERDICT_FITS, "no-budget",
                          "no budget was given, and the device's capacity is not known", ""},
    [MS_FIT_NOT_PREDICTED] =
        {MS_VERDICT_UNKNOWN, "not-predicted",
         "settings in the run's files that are not predicted could change the answer",
         "the report lists them; --assume KEY=harmless if a setting does not change memory"},
};

enum {
    VERDICTS = sizeof verdict_names / sizeof verdict_names[0],
    REASONS = sizeof reasons / sizeof reasons[0]
};

const ms_words ms_verdict_words = {verdict_names, VERDICTS, 0, 0};
const ms_words ms_reason_words = {&reasons[0].name, REASONS, sizeof reasons[0], 0};

const char *ms_fit_verdict_name(ms_fit_verdict verdict)
{
    return (size_t)verdict < VERDICTS ? verdict_names[verdict] : NULL;
}

ms_fit_verdict ms_reason_verdict(ms_fit_reason reason)
{
    return reasons[reason].verdict;
}

const char *ms_fit_reason_name(ms_fit_reason reason)
{
    return (size_t)reason < REASONS ? reasons[reason].name : NULL;
}

const char *ms_fit_reason_text(ms_fit_reason reason)
{
    return (size_t)reason < REASONS ? reasons[reason].text : NULL;
}

const char *ms_fit_reason_advice(ms_fit_reason reason)
{
    return (size_t)reason < REASONS ? reasons[reason].advice : NULL;
}

bool ms_reason_find(const char *name, ms_fit_reason *reason)
{
    for (size_t i = 0; i < REASONS; i++)
        if (strcmp(reasons[i].name, name) == 0) {
            *reason = (ms_fit_reason)i;
            return true;
        }
    return false;
}
