/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Budgets in a file, and whether runs stay within them.
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

#define MS_CHECK_SCHEMA_VERSION "1.4"

typedef struct ms_check ms_check;

enum { MS_CHECK_MOST_THREADS = 256 };

typedef struct ms_check_options {
    uint32_t threads;        /* upper bound, up to MS_CHECK_MOST_THREADS; 0: one per processor */
    bool warn_only;          /* exceeded limits do not count in the exit code */
    bool no_plans;           /* do not search for plans that would fit */
    bool for_baselines;      /* only analyze, for ms_check_baseline below; such a check cannot be
                                written */
    const char *calibration; /* a file, applied to the budgets of its device; or NULL */
    ms_inputs *inputs;       /* records the files that are read, except baselines of a check with
                                for_baselines; or NULL */
    ms_watch *watch;         /* counts the budgets that are done, and ends the check; or NULL */
} ms_check_options;

/* Reads the file and checks its budgets, several at a time. NULL when the file itself cannot be
 * read; a budget that cannot be checked has an outcome that says so. `options` may be NULL. */
ms_check *ms_check_run(const char *path, const ms_check_options *options, ms_error *err);
void ms_check_free(ms_check *check);

/* 0: all within their limits; 1: one is exceeded; 2: one cannot be read; 3: one is exceeded, and no
 * plan was found that keeps it; 70: internal fault. */
int ms_check_exit_code(const ms_check *check);

/* As ms_analysis_set_style. */
void ms_check_set_style(ms_check *check, const ms_style *style);

/* The top of the repository and the folder below it in which the program runs, both absolute: every
 * channel but the console then names files relative to the top. The caller keeps both texts alive.
 * NULL: files are named relative to the working folder. */
void ms_check_set_root(ms_check *check, const char *root, const char *folder);

/* Writes one channel: "console", "junit", ... */
ms_status ms_check_write(const ms_check *check, const char *format, FILE *out, ms_error *err);

/* One row per channel, for help texts; NULL past the last. */
const ms_report_format *ms_check_format_at(size_t index);

/* ---- baselines ---- */

typedef struct ms_baseline {
    const char *name;      /* of the budget */
    const char *path;      /* of its baseline; NULL: it has none */
    bool is_current;       /* the existing file equals what would be written */
    bool is_there;         /* the file exists */
    const ms_error *error; /* why the budget cannot be analyzed, or NULL */
    /* Why nothing may be written to the path: the existing file is no static report, or was read in
     * this check, or another budget has the same baseline, or the path is outside of the folder of
     * the budgets file (of the root of the inputs, where they have one). NULL: it may be written.
     */
    const ms_error *refusal;
} ms_baseline;

/* One per budget, in the order of the file; false past the last. */
bool ms_check_baseline(const ms_check *check, size_t index, ms_baseline *baseline);
ms_status ms_check_write_baseline(const ms_check *check, size_t index, FILE *out, ms_error *err);

#ifdef __cplusplus
}
#endif
#endif
