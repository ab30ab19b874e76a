/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of a plan's options, and the options that were set.
 */
#ifndef MS_DECIDE_PLAN_SETTINGS_H
#define MS_DECIDE_PLAN_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "input/config/fields/field.h"
#include "decide/plan/plan_field_list.h"

/* Changes of the run that a plan may make if nothing fits otherwise; and retries. */
typedef enum ms_allowance {
    MS_ALLOW_HOST_OPTIMIZER = 1,
    MS_ALLOW_HOST_PARAMETERS = 2, /* and the optimizer */
    MS_ALLOW_RETRIES = 4          /* of the allocator, and the whole budget */
} ms_allowance;

/* The value of --target for all trainers. */
extern const char ms_every_target[];

enum {
    MS_PLAN_FIELD_COUNT = 0
#define MS_ONE_MORE(...) +1
    MS_PLAN_FIELD_LIST(MS_ONE_MORE)
#undef MS_ONE_MORE
};

typedef struct ms_plan_settings {
    uint64_t is_set[MS_CONFIG_WORDS(MS_PLAN_FIELD_COUNT)];
    /* every plan */
    uint64_t budget_bytes; /* 0: not given */
    double gap;
    double time_limit_s; /* see ms_plan_time_limit_s */
    /* for a run */
    int planner;        /* ms_planner */
    const char *target; /* a row of ms_targets, or "all" */
    bool curve;
    uint64_t points;
    uint32_t without; /* ms_technique bits */
    uint32_t allowed; /* ms_allowance bits */
    double gpu_cost_per_hour;
    int rules_mode;          /* ms_rules_mode */
    uint64_t max_host_bytes; /* UINT64_MAX: half of the host's memory */
    /* for figures in a file */
    const char *ops, *graph; /* one of them, or NULL */
    double memory_budget;    /* fraction, for ops; negative: not given */
    uint64_t world_size;
    const char *ac_units, *fsdp_units; /* NULL: any, none */
    bool fsdp;                         /* choose units, not checkpoints */
    double latency_ms;
    uint64_t bandwidth_bytes; /* per second */
} ms_plan_settings;

extern const ms_config_table ms_plan_table;

/* The time limit in seconds; INFINITY: none. The search for a run's plan counts its work, so that
 * its answer is the same on any machine; that for modules needs a limit in seconds. */
double ms_plan_time_limit_s(const ms_plan_settings *settings);
/* Sets all options to their defaults. */
ms_status ms_plan_settings_init(ms_plan_settings *settings, ms_arena *arena, ms_error *err);

/* Sets an option. Refuses an unknown field and an invalid value. Text is copied into the arena. */
ms_status ms_plan_settings_set(ms_plan_settings *settings, ms_arena *arena, const char *field,
                               const char *value, ms_error *err);

/* Refuses options that have no effect with the other ones, and plans that lack a budget. */
ms_status ms_plan_settings_check(const ms_plan_settings *settings, ms_error *err);
bool ms_plan_settings_is_set(const ms_plan_settings *settings, const char *field);

#endif
