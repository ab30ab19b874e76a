/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The fields of a plan: one row each in settings.c, read by the command line and the help texts.
 */
#ifndef MS_PLAN_SETTINGS_H
#define MS_PLAN_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* Changes of the run itself that a plan may make when nothing fits without them. */
typedef enum ms_allowance {
    MS_ALLOW_HOST_OPTIMIZER = 1,
    MS_ALLOW_HOST_PARAMETERS = 2 /* and the optimizer */
} ms_allowance;

/* Of --target: each trainer. */
extern const char ms_every_target[];

typedef struct ms_plan_settings {
    uint32_t said; /* a bit for each field that was set, in the order of the rows */
    /* every plan */
    uint64_t budget_bytes; /* 0: not given */
    double gap, time_limit_s;
    /* for a run */
    int planner;        /* ms_planner */
    const char *target; /* a row of ms_targets, or "all" */
    bool curve;
    uint64_t points;
    uint32_t without; /* ms_technique bits */
    uint32_t allowed; /* ms_allowance bits */
    double gpu_cost_per_hour;
    int rules_mode;          /* ms_rules_mode */
    uint64_t max_host_bytes; /* UINT64_MAX: half of what is there */
    /* for figures in a file */
    const char *ops, *graph; /* one of them, or NULL */
    double memory_budget;    /* fraction, for ops; negative: not given */
    uint64_t world_size;
    const char *ac_units, *fsdp_units; /* NULL: any, none */
    bool fsdp;                         /* choose units, not checkpoints */
    double latency_ms;
    uint64_t bandwidth_bytes; /* per second */
} ms_plan_settings;

extern const ms_plan_settings ms_plan_defaults;

/* Refuses an unknown field, and a value its field does not take. Text is copied into the arena. */
ms_status ms_plan_settings_set(ms_plan_settings *settings, ms_arena *arena, const char *field,
                               const char *value, ms_error *err);

/* Refuses fields without effect next to others that are set, and plans that lack a budget. */
ms_status ms_plan_settings_check(const ms_plan_settings *settings, ms_error *err);
bool ms_plan_settings_said(const ms_plan_settings *settings, const char *field);

#endif
