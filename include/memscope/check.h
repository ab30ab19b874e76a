/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Budgets in a file, and whether runs keep them.
 *
 *     ms_error err = {0};
 *     ms_check *check = ms_check_run("memscope.budgets.json", NULL, &err);
 *     ms_check_write(check, "junit", out, &err);
 *     int code = ms_check_exit_code(check);
 *     ms_check_free(check);
 */
#ifndef MEMSCOPE_CHECK_H
#define MEMSCOPE_CHECK_H

#include "memscope/memscope.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MS_CHECK_SCHEMA_VERSION "1.1"

typedef struct ms_check ms_check;

enum { MS_CHECK_MOST_THREADS = 256 };

typedef struct ms_check_options {
    uint32_t threads;        /* at most; 0: as many as there are processors; at most
                                MS_CHECK_MOST_THREADS */
    bool warn_only;          /* what is over a limit does not count in the exit code */
    bool no_plans;           /* do not look for what would fit */
    bool for_baselines;      /* only analyze: for ms_check_baseline_... below, not to be written */
    const char *calibration; /* a file for the budgets of its device, or NULL */
    ms_inputs
        *inputs; /* gets the files that are read, but for baselines of for_baselines; or NULL */
} ms_check_options;

/* Reads the file and checks its budgets, several at a time. NULL when the file itself cannot be
 * read; a budget that cannot be checked is an outcome of its own. `options` may be NULL. */
ms_check *ms_check_run(const char *path, const ms_check_options *options, ms_error *err);
void ms_check_free(ms_check *check);

/* 0: all within their limits; 1: one is over; 2: one cannot be read; 3: one is over, and no plan
 * fits it again; 70: internal fault. */
int ms_check_exit_code(const ms_check *check);

/* As ms_analysis_set_style. */
void ms_check_set_style(ms_check *check, const ms_style *style);

/* The top of the repository and where the program runs below it, both absolute: then every channel
 * but the console names files from there. Texts belong to the caller; NULL: from where it runs. */
void ms_check_set_root(ms_check *check, const char *root, const char *folder);

/* Writes one channel: "console", "junit", ... */
ms_status ms_check_write(const ms_check *check, const char *format, FILE *out, ms_error *err);

/* One row per channel, for help texts; NULL past the last. */
const ms_report_format *ms_check_format_at(size_t index);

/* ---- baselines ---- */

typedef struct ms_baseline {
    const char *name; /* of the budget */
    const char *path; /* where its baseline is; NULL: it has none */
    bool is_current;  /* the file there is what would be written */
    bool is_there;
    const ms_error *error; /* why the budget cannot be analyzed, or NULL */
    /* Why nothing may be written there: the file is not a static report, or was read in this
     * check, or another budget has the same baseline. NULL: it may. */
    const ms_error *refusal;
} ms_baseline;

/* One per budget, in the order of the file; false past the last. */
bool ms_check_baseline(const ms_check *check, size_t index, ms_baseline *baseline);
ms_status ms_check_write_baseline(const ms_check *check, size_t index, FILE *out, ms_error *err);

#ifdef __cplusplus
}
#endif
#endif
