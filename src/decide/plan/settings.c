/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/settings.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "decide/plan/search/step_plan.h"
#include "decide/plan/trainers/target.h"
#include "decide/plan/trainers/targets.h"
#include "input/config/fields/kinds.h"
#include "memscope/plan.h"

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

/* What goes to the host does so for one free plan; retries are for all. */
static bool may_allow(const ms_plan_settings *s)
{
    return !(s->allowed & ~(uint32_t)MS_ALLOW_RETRIES) || (!s->curve && is_free(s));
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
    ALLOWANCES,
    THE_RULES,
    RULES_THAT_OFFLOAD,
    CHECKPOINTS,
    SHARDS,
    UNITS
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
    [ALLOWANCES] = {may_allow,
                    "host-optimizer and host-parameters are for one free plan: leave out "
                    "--curve and --target"},
    [THE_RULES] = {is_by_rules, "is for --planner rules"},
    [RULES_THAT_OFFLOAD] = {is_by_rules_that_offload,
                            "is for --planner rules, with offload allowed"},
    [CHECKPOINTS] = {has_checkpoints, "is not for --fsdp, which checkpoints nothing"},
    [SHARDS] = {has_shards, "is for --fsdp"},
    [UNITS] = {has_search, "works only with --graph and with a sharded model"},
};

/* ---- the rows ---- */

static const char *const techniques[] = {"checkpoint", "selective", "offload",
                                         "tile",       "chunk",     NULL};

_Static_assert(MS_MAY_ALL == (1 << (sizeof techniques / sizeof techniques[0] - 1)) - 1,
               "a technique has no name");

static const char *const rules_modes[] = {[MS_RULES_CONSERVATIVE] = "conservative",
                                          [MS_RULES_BALANCED] = "balanced",
                                          [MS_RULES_AGGRESSIVE] = "aggressive",
                                          NULL};

/* By bit of ms_allowance. */
static const char *const allowances[] = {"host-optimizer", "host-parameters", "retries", NULL};

const char ms_every_target[] = "all";

static const char *target_at(size_t index)
{
    const ms_target *target = ms_target_at(index);
    if (target)
        return target->name;
    return index > 0 && ms_target_at(index - 1) ? ms_every_target : NULL;
}

#define AT(member)                                                                                 \
    .offset = offsetof(ms_plan_settings, member), .bytes = sizeof((ms_plan_settings *)NULL)->member

static const ms_run_field texts[] = {
#define TEXTS(name, value_name, help, default_text, group, ...)                                    \
    {name, value_name, help, default_text, group},
    MS_PLAN_FIELD_LIST(TEXTS)
#undef TEXTS
};

static const ms_config_field rows[] = {
#define ROW(row_name, value_name, help, default_text, group, row_kind, ...)                        \
    {.name = row_name, .kind = &ms_config_kind_##row_kind, __VA_ARGS__},
    MS_PLAN_FIELD_LIST(ROW)
#undef ROW
};

const ms_config_table ms_plan_table = {.texts = texts,
                                       .rows = rows,
                                       .count = MS_PLAN_FIELD_COUNT,
                                       .is_set = offsetof(ms_plan_settings, is_set)};

const ms_run_field *ms_plan_fields(size_t *count)
{
    if (!count)
        return NULL;
    *count = MS_PLAN_FIELD_COUNT;
    return texts;
}

const char *ms_plan_field_choice(const char *name, size_t index)
{
    int row = name ? ms_config_field_find(&ms_plan_table, name) : -1;
    return row < 0 ? NULL : ms_config_field_choice(&rows[row], index);
}

ms_status ms_plan_settings_init(ms_plan_settings *settings, ms_arena *arena, ms_error *err)
{
    *settings = (ms_plan_settings){.max_host_bytes = UINT64_MAX, .memory_budget = -1};
    return ms_config_field_fill(&ms_plan_table, settings, arena, err);
}

ms_status ms_plan_settings_set(ms_plan_settings *settings, ms_arena *arena, const char *field,
                               const char *value, ms_error *err)
{
    return ms_config_field_set(&ms_plan_table, settings, arena, field, value, err);
}

bool ms_plan_settings_is_set(const ms_plan_settings *settings, const char *field)
{
    int row = ms_config_field_find(&ms_plan_table, field);
    return row >= 0 && ms_config_field_is_set(&ms_plan_table, settings, (size_t)row);
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

/* Seconds; modules are planned until then. */
static const double modules_time_limit_s = 10;

double ms_plan_time_limit_s(const ms_plan_settings *settings)
{
    int row = ms_config_field_find(&ms_plan_table, "time-limit");
    if (row >= 0 && ms_config_field_is_set(&ms_plan_table, settings, (size_t)row))
        return settings->time_limit_s;
    return settings->graph ? modules_time_limit_s : INFINITY;
}

ms_status ms_plan_settings_check(const ms_plan_settings *settings, ms_error *err)
{
    ms_status status = check_files(settings, err);
    for (size_t i = 0; i < MS_PLAN_FIELD_COUNT && status == MS_OK; i++) {
        const ms_config_field *row = &rows[i];
        const char *refusal = NULL;
        if (!ms_config_field_is_set(&ms_plan_table, settings, i))
            continue;
        if (!is_for(settings, (group)row->scope))
            refusal = group_refusals[row->scope];
        else if (needs[row->need].is_met && !needs[row->need].is_met(settings))
            refusal = needs[row->need].refusal;
        if (refusal)
            status = ms_fail(err, MS_ERR_USAGE, "--%s %s", row->name, refusal);
    }
    return status == MS_OK ? check_budgets(settings, err) : status;
}
