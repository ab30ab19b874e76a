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

/* Changes of the run that a plan may make if nothing fits otherwise; and retries. */
typedef enum ms_allowance {
    MS_ALLOW_HOST_OPTIMIZER = 1,
    MS_ALLOW_HOST_PARAMETERS = 2, /* and the optimizer */
    MS_ALLOW_RETRIES = 4          /* of the allocator, and the whole budget */
} ms_allowance;

/* The value of --target for all trainers. */
extern const char ms_every_target[];

/* clang-format off */
#define MS_PLAN_FIELD_LIST(X) \
    X("budget", "SIZE", \
      "memory of the run, or of the backward pass of --graph", "all of the device", \
      "Plan", size, AT(budget_bytes), .minimum = 1, .default_is_words = true, \
      .need = ONE_BUDGET) \
    X("gap", "X", "relative distance from the bound at which to stop", "0.001", \
      "Plan", number, AT(gap), .maximum = 1, .need = A_BOUND) \
    X("time-limit", "SECONDS", "stop after this time with the best plan found", \
      "10 with --graph, else none", "Plan", number, AT(time_limit_s), .maximum = 1e6, \
      .default_is_words = true, .need = A_SEARCH) \
    X("planner", "NAME", "milp, greedy, rules, uniform or none", "milp", \
      "Plan for a run", choice, AT(planner), .choices = ms_planner_names, .scope = RUN, \
      .need = FREE_CHOICE) \
    X("target", "NAME", "plan only what this trainer can express, or all trainers", "free", \
      "Plan for a run", name, AT(target), .choice_at = target_at, .scope = RUN) \
    X("curve", NULL, "plot time against budget, from the smallest budget found", NULL, \
      "Plan for a run", flag, AT(curve), .scope = RUN, .need = BEST_PLANS) \
    X("points", "N", "number of budgets on the curve", "24", \
      "Plan for a run", count, AT(points), .minimum = 2, .maximum = 200, .scope = RUN, \
      .need = A_CURVE) \
    X("without", "LIST", \
      "treatments to leave out: checkpoint, selective, offload, tile, chunk", "none", \
      "Plan for a run", bits, AT(without), .choices = techniques, .scope = RUN) \
    X("allow", "LIST", \
      "allow host-optimizer and host-parameters, if nothing else fits, and retries", "none", \
      "Plan for a run", bits, AT(allowed), .choices = allowances, .scope = RUN, \
      .need = ALLOWANCES) \
    X("gpu-cost-per-hour", "X", "price per GPU-hour, in any currency", "2.50", \
      "Plan for a run", number, AT(gpu_cost_per_hour), .maximum = 1e6, .scope = RUN, \
      .need = ONE_PLAN) \
    X("rules-mode", "NAME", "for --planner rules: conservative, balanced, aggressive", "balanced", \
      "Plan for a run", choice, AT(rules_mode), .choices = rules_modes, .scope = RUN, \
      .need = THE_RULES) \
    X("max-cpu-offload", "SIZE", "for --planner rules: host memory that it may use", "half of it", \
      "Plan for a run", size, AT(max_host_bytes), .default_is_words = true, .scope = RUN, \
      .need = RULES_THAT_OFFLOAD) \
    X("graph", "FILE", "plan checkpoints for the modules in this ModuleInfo file", NULL, \
      "Plan for modules", text, AT(graph), .scope = MODULES) \
    X("world-size", "N", "ranks that share parameters and gradients", "1", \
      "Plan for modules", count, AT(world_size), .minimum = 1, .maximum = 1e6, \
      .scope = MODULES) \
    X("ac-units", "A,B,...", "only these modules may be checkpointed", "any", \
      "Plan for modules", text, AT(ac_units), .default_is_words = true, .scope = MODULES, \
      .need = CHECKPOINTS) \
    X("fsdp-units", "A,B,...", "modules that are gathered as a unit", \
      "none", "Plan for modules", text, AT(fsdp_units), .default_is_words = true, .need = UNITS) \
    X("fsdp", NULL, "choose FSDP units instead of checkpoints", NULL, \
      "Plan for modules", flag, AT(fsdp), .scope = MODULES) \
    X("latency", "MS", "latency of an all-gather or reduce-scatter, for --fsdp", "0.01", \
      "Plan for modules", number, AT(latency_ms), .maximum = 1e6, .scope = MODULES, \
      .need = SHARDS) \
    X("bandwidth", "SIZE", "bytes gathered or scattered per second, for --fsdp", "100GB", \
      "Plan for modules", size, AT(bandwidth_bytes), .minimum = 1, .scope = MODULES, \
      .need = SHARDS) \
    X("ops", "FILE", "plan which operators of this SACStats file to save", NULL, \
      "Plan for operators", text, AT(ops), .scope = OPERATORS) \
    X("memory-budget", "FRACTION", "fraction of all operators' memory, from 0 to 1", NULL, \
      "Plan for operators", number, AT(memory_budget), .maximum = 1, .scope = OPERATORS)

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
