/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whether a step fits its budget, and why.
 */
#ifndef MEMSCOPE_VERDICT_H
#define MEMSCOPE_VERDICT_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ms_fit_verdict {
    MS_VERDICT_NO,
    MS_VERDICT_UNKNOWN, /* settings that are not predicted could turn the answer: never a yes */
    MS_VERDICT_TIGHT,   /* it fits, but only just; the reason says how */
    MS_VERDICT_FITS
} ms_fit_verdict;

/* The reason; each belongs to one verdict. */
typedef enum ms_fit_reason {
    MS_FIT_OVER_BUDGET,   /* no: the expected device bytes exceed the budget */
    MS_FIT_NO_ROOM,       /* no: the allocator runs out of memory on the way */
    MS_FIT_RETRIES,       /* tight: only because the allocator releases cached memory */
    MS_FIT_UPPER_END,     /* tight: the expected device bytes fit, the high ones do not */
    MS_FIT_WITHIN_BUDGET, /* fits */
    MS_FIT_NO_BUDGET,     /* fits: no limit is known */
    MS_FIT_NOT_PREDICTED  /* unknown: settings of the run's files are not in the figures */
} ms_fit_reason;

/* The names as reports write them: "tight", "allocator-retries"; the meaning of the reason, as a
 * sentence without a full stop; and what to do about it, "" for MS_VERDICT_FITS. Static texts; NULL
 * for any other number. */
const char *ms_fit_verdict_name(ms_fit_verdict verdict);
const char *ms_fit_reason_name(ms_fit_reason reason);
const char *ms_fit_reason_text(ms_fit_reason reason);
const char *ms_fit_reason_advice(ms_fit_reason reason);

#ifdef __cplusplus
}
#endif
#endif
