/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a run comes to under its limits.
 */
#ifndef MS_GATE_VERDICT_H
#define MS_GATE_VERDICT_H

#include "diff/diff.h"
#include "gate/budgets.h"

/* Worst last. */
typedef enum ms_outcome {
    MS_OUTCOME_SKIPPED, /* no limit */
    MS_OUTCOME_PASSED,
    MS_OUTCOME_WARNED,
    MS_OUTCOME_OVER,
    MS_OUTCOME_FAILED, /* something could not be read */
    MS_OUTCOME_COUNT
} ms_outcome;
extern const char *const ms_outcome_names[]; /* "passed": by ms_outcome */

/* A limit that is not kept. */
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
    ms_report report; /* of the run as it is */
    ms_report before; /* of the baseline, when has_before */
    bool has_before;
    ms_diff diff;                         /* from the one to the other */
    uint64_t device_bytes;                /* what shares are of; 0: not known */
    uint64_t expected_bytes, upper_bytes; /* of what is measured */
    uint64_t used_bytes;                  /* the one that is compared with the limits */
    uint64_t before_bytes;                /* the same of the baseline */
    uint64_t limit_bytes;                 /* the tightest that fails; 0: none */
    ms_outcome by_fit;                    /* the outcome of the run's own verdict alone */
    ms_breach breaches[MS_MOST_BREACHES];
    uint32_t breach_count;
    const char *fix;   /* what would fit: "checkpoint 9 of 32 layers, +6.0 % step time"; or NULL */
    const char *treat; /* the same as --treat */
    bool has_no_fix;   /* no plan was found that fits */
    const ms_error *place; /* of the key that matters most: what changed, else the limit */
    const ms_error **config_places, **setting_places; /* of the diff's rows; NULL: nowhere */
} ms_verdict;

/* Judges a verdict with a report, and with the baseline when there is one. Fails, at its place,
 * on a limit that cannot be compared with this run. */
ms_status ms_verdict_judge(ms_arena *arena, ms_verdict *v, ms_error *err);

/* Finds where the files say what the diff found, and what a message should point at. Files are
 * those of the budget, in a budgets file at `path`. */
ms_status ms_verdict_locate(ms_arena *arena, ms_verdict *v, const char *path, ms_error *err);

/* "max 78 GiB is exceeded by 1.20 GiB" and so on: one sentence without a full stop; in the arena,
 * NULL when out of memory. */
const char *ms_verdict_text(ms_arena *arena, const ms_verdict *v);

/* "+3.10 GiB: activation +2.80 GiB, temporary +300.00 MiB; seq 4096 -> 8192"; "" without a
 * baseline or when nothing changed. */
const char *ms_verdict_changes(ms_arena *arena, const ms_verdict *v);

/* Worst first; for equals the fuller one, then the order of the file. */
int ms_verdict_order(const ms_verdict *a, const ms_verdict *b);

/* 0, 1, 2 or 3: as documented in memscope(1). */
int ms_verdicts_exit_code(const ms_verdict *verdicts, uint32_t count, bool warn_only);

#endif
