/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/settings.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "memscope/plan.h"
#include "plan/setting.h"
#include "plan/search/step_plan.h"
#include "plan/trainers/target.h"

/* The row of a field: what the public ms_run_field says, then how it is read, its member, least and
 * largest value, and what it needs to say anything. */
#define ANY_TITLE "Plan"
#define RUN_TITLE "Plan for a run"
#define MODULES_TITLE "Plan for modules"
#define OPERATORS_TITLE "Plan for operators"
/* clang-format off */
#define FIELD_LIST(X) \
    X("budget",            "SIZE",     "memory of the run, or of the backward pass of --graph",    "all of the device", ANY,       size,       budget_bytes,      1, 0,   ONE_BUDGET)         \
    X("gap",               "X",        "relative distance from the bound at which to stop",            "0.001",             ANY,       number,     gap,               0, 1,   A_BOUND)            \
    X("time-limit",        "SECONDS",  "stop after this time with the best plan found",                  "10",                ANY,       number,     time_limit_s,      0, 1e6, A_SEARCH)           \
    X("planner",           "NAME",     "milp, greedy, rules, uniform or none",                     "milp",              RUN,       planner,    planner,           0, 0,   FREE_CHOICE)        \
    X("target",            "NAME",     "plan only what this trainer can express, or all trainers",       "free",              RUN,       target,     target,            0, 0,   NOTHING)            \
    X("curve",             NULL,       "time against budget, from the smallest budget found",       NULL,                RUN,       flag,       curve,             0, 0,   BEST_PLANS)         \
    X("points",            "N",        "number of budgets on the curve",                                     "24",                RUN,       count,      points,            2, 200, A_CURVE)            \
    X("without",           "LIST",     "treatments not to use: checkpoint, selective, offload, tile, chunk",           "none",              RUN,       techniques, without,           0, 0,   NOTHING)            \
    X("allow",             "LIST",     "allowed if nothing else fits: host-optimizer, host-parameters",  "none",              RUN,       allowances, allowed,           0, 0,   ONE_FREE_PLAN)      \
    X("gpu-cost-per-hour", "X",        "price of an hour, in any currency",                                   "2.50",              RUN,       number,     gpu_cost_per_hour, 0, 1e6, ONE_PLAN)           \
    X("rules-mode",        "NAME",     "for --planner rules: conservative, balanced, aggressive",  "balanced",          RUN,       mode,       rules_mode,        0, 0,   THE_RULES)          \
    X("max-cpu-offload",   "SIZE",     "for --planner rules: host memory it may use",       "half of it",        RUN,       size,       max_host_bytes,    0, 0,   RULES_THAT_OFFLOAD) \
    X("graph",             "FILE",     "plan checkpoints for the modules in this ModuleInfo file", NULL,                MODULES,   text,       graph,             0, 0,   NOTHING)            \
    X("world-size",        "N",        "ranks that share parameters and gradients",                "1",                 MODULES,   count,      world_size,        1, 1e6, NOTHING)            \
    X("ac-units",          "A,B,...",  "only these modules may be checkpointed",                   "any",               MODULES,   text,       ac_units,          0, 0,   CHECKPOINTS)        \
    X("fsdp-units",        "A,B,...",  "modules that are gathered as one",                              "none",              MODULES,   text,       fsdp_units,        0, 0,   NOTHING)            \
    X("fsdp",              NULL,       "choose FSDP units instead of checkpoints",                 NULL,                MODULES,   flag,       fsdp,              0, 0,   NOTHING)            \
    X("latency",           "MS",       "latency of an all-gather or reduce-scatter, for --fsdp",                 "0.01",              MODULES,   number,     latency_ms,        0, 1e6, SHARDS)             \
    X("bandwidth",         "SIZE",     "bytes gathered or scattered per second, for --fsdp",            "100GB",             MODULES,   size,       bandwidth_bytes,   1, 0,   SHARDS)             \
    X("ops",               "FILE",     "plan which operators of this SACStats file to save", NULL,                OPERATORS, text,       ops,               0, 0,   NOTHING)            \
    X("memory-budget",     "FRACTION", "fraction of all operators' memory, from 0 to 1",                    NULL,                OPERATORS, number,     memory_budget,     0, 1,   NOTHING)

static const ms_run_field fields[] = {
#define FIELD(name, value_name, help, default_text, group, kind, member, minimum, maximum, need) \
    {name, value_name, help, default_text, group##_TITLE},
    FIELD_LIST(FIELD)
#undef FIELD
};
/* clang-format on */
enum { FIELD_COUNT = sizeof fields / sizeof fields[0] };
_Static_assert(FIELD_COUNT <= 32, "ms_plan_settings.said has a bit for each field");

const ms_plan_settings ms_plan_defaults = {
    .gap = 0.001,
    .time_limit_s = 10,
    .planner = MS_PLANNER_MILP,
    .target = "free",
    .points = 24,
    .gpu_cost_per_hour = 2.5,
    .rules_mode = MS_RULES_BALANCED,
    .max_host_bytes = UINT64_MAX,
    .memory_budget = -1,
    .world_size = 1,
    .latency_ms = 0.01,
    .bandwidth_bytes = UINT64_C(100000000000),
};

/* ---- what a field needs ---- */

/* What is planned for; a field of another kind of plan has no effect. */
typedef enum group { ANY, RUN, MODULES, OPERATORS } group;

static bool is_for(const ms_plan_settings *s, group wanted)
{
    switch (wanted) {
    case RUN:
        return !s->graph && !s->ops;
    case MODULES:
        return s->graph;
    case OPERATORS:
        return s->ops;
    case ANY:
        break;
    }
    return true;
}

static const char *const group_refusals[] = {[ANY] = "",
                                             [RUN] = "is for a model",
                                             [MODULES] = "is for --graph",
                                             [OPERATORS] = "is for --ops"};

static bool is_free(const ms_plan_settings *s)
{
    return strcmp(s->target, ms_target_at(0)->name) == 0;
}

static bool is_bounded(const ms_plan_settings *s)
{
    return is_for(s, RUN) ? s->planner == MS_PLANNER_MILP : s->graph && !s->fsdp;
}

static bool has_search(const ms_plan_settings *s)
{
    return !s->ops;
}

static bool has_budget(const ms_plan_settings *s)
{
    return !s->ops && !s->curve;
}

static bool is_free_choice(const ms_plan_settings *s)
{
    return s->planner == MS_PLANNER_MILP || is_free(s) || strcmp(s->target, ms_every_target) == 0;
}

static bool is_best_and_free(const ms_plan_settings *s)
{
    return s->planner == MS_PLANNER_MILP && is_free(s);
}

static bool is_curve(const ms_plan_settings *s)
{
    return s->curve;
}

static bool is_one_plan(const ms_plan_settings *s)
{
    return !s->curve;
}

static bool is_one_free_plan(const ms_plan_settings *s)
{
    return !s->curve && is_free(s);
}

static bool is_by_rules(const ms_plan_settings *s)
{
    return s->planner == MS_PLANNER_RULES && is_free_choice(s);
}

static bool is_by_rules_that_offload(const ms_plan_settings *s)
{
    return is_by_rules(s) && !(s->without & MS_MAY_OFFLOAD);
}

static bool has_checkpoints(const ms_plan_settings *s)
{
    return !s->fsdp;
}

static bool has_shards(const ms_plan_settings *s)
{
    return s->fsdp;
}

typedef enum need {
    NOTHING,
    A_BOUND,
    A_SEARCH,
    ONE_BUDGET,
    FREE_CHOICE,
    BEST_PLANS,
    A_CURVE,
    ONE_PLAN,
    ONE_FREE_PLAN,
    THE_RULES,
    RULES_THAT_OFFLOAD,
    CHECKPOINTS,
    SHARDS
} need;

/* The refusal follows the name of the field. */
static const struct {
    bool (*is_met)(const ms_plan_settings *s);
    const char *refusal;
} needs[] = {
    [NOTHING] = {NULL, ""},
    [A_BOUND] = {is_bounded, "is for the milp planner and for checkpoints of --graph"},
    [A_SEARCH] = {has_search, "is not for --ops, whose plans are exact"},
    [ONE_BUDGET] = {has_budget,
                    "is neither for --ops, which takes --memory-budget, nor for --curve"},
    [FREE_CHOICE] = {is_free_choice, "is for plans without --target, or with --target all"},
    [BEST_PLANS] = {is_best_and_free, "is for optimal plans: leave out --planner and --target"},
    [A_CURVE] = {is_curve, "is for --curve"},
    [ONE_PLAN] = {is_one_plan, "is for one plan: leave out --curve"},
    [ONE_FREE_PLAN] = {is_one_free_plan, "is for one free plan: leave out --curve and --target"},
    [THE_RULES] = {is_by_rules, "is for --planner rules"},
    [RULES_THAT_OFFLOAD] = {is_by_rules_that_offload,
                            "is for --planner rules, with offload allowed"},
    [CHECKPOINTS] = {has_checkpoints, "is not for --fsdp, which checkpoints nothing"},
    [SHARDS] = {has_shards, "is for --fsdp"},
};

/* ---- the rows, as they are read ---- */

typedef struct place {
    ms_setting setting;
    size_t offset;
    int group, need;
} place;

/* clang-format off */
static const place places[] = {
#define PLACE(name, value_name, help, default_text, group, kind, member, minimum, maximum, need) \
    {{name, &ms_setting_##kind, minimum, maximum}, offsetof(ms_plan_settings, member), group, need},
    FIELD_LIST(PLACE)
#undef PLACE
};
/* clang-format on */

const ms_run_field *ms_plan_fields(size_t *count)
{
    if (!count)
        return NULL;
    *count = FIELD_COUNT;
    return fields;
}

static size_t find_field(const char *name)
{
    size_t row = 0;
    while (row < FIELD_COUNT && strcmp(fields[row].name, name) != 0)
        row++;
    return row;
}

const char *ms_plan_field_choice(const char *name, size_t index)
{
    if (!name)
        return NULL;
    size_t row = find_field(name);
    const ms_setting_kind *kind = row < FIELD_COUNT ? places[row].setting.kind : NULL;
    return kind && kind->choice_at ? kind->choice_at(index) : NULL;
}

ms_status ms_plan_settings_set(ms_plan_settings *settings, ms_arena *arena, const char *field,
                               const char *value, ms_error *err)
{
    size_t row = find_field(field);
    if (row == FIELD_COUNT)
        return ms_fail(err, MS_ERR_USAGE, "a plan has no field \"%.40s\"", field);
    const place *p = &places[row];
    settings->said |= UINT32_C(1) << row;
    return p->setting.kind->set(&p->setting, value, (char *)settings + p->offset, arena, err);
}

/* ---- what is wanted together ---- */

static ms_status check_files(const ms_plan_settings *s, ms_error *err)
{
    if (s->ops && s->graph)
        return ms_fail(err, MS_ERR_USAGE, "a plan needs either --graph or --ops");
    return MS_OK;
}

static ms_status check_budgets(const ms_plan_settings *s, ms_error *err)
{
    if (s->graph && s->budget_bytes == 0)
        return ms_fail(err, MS_ERR_USAGE, "--graph needs --budget, for example 40GiB");
    if (s->ops && s->memory_budget < 0)
        return ms_fail(err, MS_ERR_USAGE, "--ops needs --memory-budget, for example 0.5");
    return MS_OK;
}

ms_status ms_plan_settings_check(const ms_plan_settings *settings, ms_error *err)
{
    ms_status status = check_files(settings, err);
    for (size_t i = 0; i < FIELD_COUNT && status == MS_OK; i++) {
        const place *p = &places[i];
        const char *refusal = NULL;
        if (!(settings->said >> i & 1))
            continue;
        if (!is_for(settings, (group)p->group))
            refusal = group_refusals[p->group];
        else if (needs[p->need].is_met && !needs[p->need].is_met(settings))
            refusal = needs[p->need].refusal;
        if (refusal)
            status = ms_fail(err, MS_ERR_USAGE, "--%s %s", fields[i].name, refusal);
    }
    return status == MS_OK ? check_budgets(settings, err) : status;
}

bool ms_plan_settings_said(const ms_plan_settings *settings, const char *field)
{
    size_t row = find_field(field);
    return row < FIELD_COUNT && (settings->said >> row & 1);
}
