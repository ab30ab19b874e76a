/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The verdict about a run under its limits.
 */
#ifndef MS_DECIDE_CHECK_VERDICT_H
#define MS_DECIDE_CHECK_VERDICT_H

#include "decide/diff/diff.h"
#include "decide/check/budgets.h"

/* Worst last. */
typedef enum ms_outcome {
    MS_OUTCOME_SKIPPED, /* no limit */
    MS_OUTCOME_PASSED,
    MS_OUTCOME_WARNED,
    MS_OUTCOME_UNKNOWN, /* settings that are not predicted could turn what the limits say */
    MS_OUTCOME_OVER,
    MS_OUTCOME_FAILED, /* a file could not be read */
    MS_OUTCOME_COUNT
} ms_outcome;
extern const char *const ms_outcome_names[]; /* "passed": by ms_outcome */

/* An exceeded limit. */
typedef struct ms_breach {
    const char *key; /* "max" */
    const ms_budget_limit *limit;
    uint64_t limit_bytes;
    bool is_warning;
} ms_breach;

enum { MS_MOST_BREACHES = 3 };

typedef struct ms_verdict {
    const ms_budget *budget;
    ms_outcome outcome;
    ms_error error;   /* of MS_OUTCOME_FAILED */
    ms_report report; /* of the current run */
    ms_report before; /* of the baseline, when has_before */
    bool has_before;
    ms_diff diff;                         /* from the baseline to the run */
    uint64_t device_bytes;                /* reference of shares; 0: unknown */
    uint64_t expected_bytes, upper_bytes; /* of the measured quantity */
    uint64_t used_bytes;                  /* the figure compared with the limits */
    uint64_t before_bytes;                /* the same of the baseline */
    uint64_t limit_bytes;                 /* the tightest that is exceeded; 0: none */
    ms_outcome by_fit;                    /* outcome by the run's verdict alone */
    ms_breach breaches[MS_MOST_BREACHES];
    uint32_t breach_count;
    const char *fix; /* a plan that fits: "checkpoint 9 of 32 layers, +6.0 % step time"; where there
                        is none a change of the run that does; or NULL */
    const char *treat;     /* value of --treat for it, or NULL */
    const char *option;    /* of a change of the run: "--lora r=16"; or NULL */
    bool has_no_fix;       /* a search found no plan that fits */
    const ms_error *place; /* of the most relevant key: a change, else the limit */
    const ms_error **config_places, **setting_places; /* of the diff's rows; NULL: unknown */
} ms_verdict;

/* Judges a verdict with a report, and with the baseline when there is one. Fails, at its place,
 * on a limit that cannot be compared with this run. */
ms_status ms_verdict_judge(ms_arena *arena, ms_verdict *v, ms_error *err);

/* Finds the places of the diff's rows in the budget's files, and the place for messages. `path` is
 * that of the budgets file. */
ms_status ms_verdict_locate(ms_arena *arena, ms_verdict *v, const char *path, ms_error *err);

/* Compares for sorting: worst first, then the fuller one, then the order of the file. */
int ms_verdict_order(const ms_verdict *a, const ms_verdict *b);

/* 0, 1, 2, 3 or 4: as documented in memscope(1). */
int ms_verdicts_exit_code(const ms_verdict *verdicts, uint32_t count, bool warn_only);

#endif
