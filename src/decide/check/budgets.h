/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memscope.budgets.json: runs and their memory limits. The schema is schemas/budgets.schema.json;
 * unknown keys are refused.
 */
#ifndef MS_DECIDE_CHECK_BUDGETS_H
#define MS_DECIDE_CHECK_BUDGETS_H

#include "decide/check/limits.h"

/* One run and its limits. */
typedef struct ms_budget {
    const char *name;
    const char *config;   /* a preset, or a path relative to the working directory; NULL: see run */
    ms_json_value run;    /* without config: the run file, a value of the document */
    ms_json_value infer;  /* in place of both: a deployment, its model and settings of inference */
    const char *device;   /* NULL: the run's */
    const char *baseline; /* a path, or NULL */
    ms_limits limits;
    const ms_error *place;        /* of the entry's name */
    const ms_error *config_place; /* of its config, run or infer */
    const ms_error *baseline_place;
} ms_budget;

typedef struct ms_budgets {
    const ms_budget *items;
    uint32_t count;
} ms_budgets;

/* Reads a document; paths in it are relative to `path`, its file. A pattern becomes one entry per
 * matching file. The document must outlive the budgets; texts belong to the arena. */
ms_status ms_budgets_read(ms_arena *arena, ms_json_value root, const char *path,
                          ms_budgets *budgets, ms_error *err);

#endif
