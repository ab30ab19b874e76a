/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/settings.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "config/values.h"
#include "memscope/plan.h"
#include "plan/step_plan.h"
#include "plan/target.h"

/* The row of a field: what the public ms_run_field says, then how it is read, and its member, least
 * and largest value. */
#define ANY "Plan"
#define RUN "Plan for a run"
#define MODULES "Plan for modules"
#define OPERATORS "Plan for operators"
/* clang-format off */
#define FIELD_LIST(X) \
    X("budget",            "SIZE",     "memory of the run, or of the backward pass of --graph",      "all of the device", ANY,   size,       budget_bytes,      1, 0)   \
    X("gap",               "X",        "how far from the optimum a plan may be, relative",         "0.001",    ANY,       number,     gap,               0, 1)   \
    X("time-limit",        "SECONDS",  "answer with the best plan found by then",                  "10",       ANY,       number,     time_limit_s,      0, 1e6) \
    X("planner",           "NAME",     "milp, greedy, rules, uniform or none",                     "milp",     RUN,       planner,    planner,           0, 0)   \
    X("target",            "NAME",     "plan what this trainer can express, or all of them",       "free",     RUN,       target,     target,            0, 0)   \
    X("curve",             NULL,       "time against budget, from the least that fits",            NULL,       RUN,       flag,       curve,             0, 0)   \
    X("points",            "N",        "budgets of the curve",                                     "24",       RUN,       count,      points,            2, 200) \
    X("without",           "LIST",     "of checkpoint, selective, offload, tile, chunk",           "none",     RUN,       techniques, without,           0, 0)   \
    X("allow",             "LIST",     "when nothing fits else: host-optimizer, host-parameters",   "none",     RUN,       allowances, allowed,           0, 0)   \
    X("gpu-cost-per-hour", "X",        "money, in any currency",                                   "2.50",     RUN,       number,     gpu_cost_per_hour, 0, 1e6) \
    X("rules-mode",        "NAME",     "for --planner rules: conservative, balanced, aggressive",  "balanced", RUN,       mode,       rules_mode,        0, 0)   \
    X("max-cpu-offload",   "SIZE",     "for --planner rules: memory of the host it may use",       "half of it", RUN,     size,       max_host_bytes,    0, 0)   \
    X("graph",             "FILE",     "plan checkpoints for the modules in this ModuleInfo file", NULL,       MODULES,   text,       graph,             0, 0)   \
    X("world-size",        "N",        "ranks that share parameters and gradients",                "1",        MODULES,   count,      world_size,        1, 1e6) \
    X("ac-units",          "A,B,...",  "only these modules may be checkpointed",                   "any",      MODULES,   text,       ac_units,          0, 0)   \
    X("fsdp-units",        "A,B,...",  "modules gathered as a whole",                              "none",     MODULES,   text,       fsdp_units,        0, 0)   \
    X("fsdp",              NULL,       "choose FSDP units instead of checkpoints",                 NULL,       MODULES,   flag,       fsdp,              0, 0)   \
    X("latency",           "MS",       "of a gathering or scattering, for --fsdp",                 "0.01",     MODULES,   number,     latency_ms,        0, 1e6) \
    X("bandwidth",         "SIZE",     "gathered or scattered in a second, for --fsdp",            "100GB",    MODULES,   size,       bandwidth_bytes,   1, 0)   \
    X("ops",               "FILE",     "plan what to save of the operators in this SACStats file", NULL,       OPERATORS, text,       ops,               0, 0)   \
    X("memory-budget",     "FRACTION", "of all operators' memory, from 0 to 1",                    NULL,       OPERATORS, number,     memory_budget,     0, 1)

static const ms_run_field fields[] = {
#define FIELD(name, value_name, help, default_text, group, kind, member, minimum, maximum) \
    {name, value_name, help, default_text, group},
    FIELD_LIST(FIELD)
#undef FIELD
};
/* clang-format on */
enum { FIELD_COUNT = sizeof fields / sizeof fields[0] };

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

/* ---- one setter per kind ---- */

typedef struct place {
    ms_status (*set)(const struct place *p, const char *name, const char *value, void *member,
                     ms_arena *arena, ms_error *err);
    size_t offset;
    double minimum, maximum;
} place;

static ms_status set_text(const place *p, const char *name, const char *value, void *member,
                          ms_arena *arena, ms_error *err)
{
    (void)p;
    return ms_value_text(name, value, arena, member, err);
}

static ms_status set_size(const place *p, const char *name, const char *value, void *member,
                          ms_arena *arena, ms_error *err)
{
    (void)arena;
    return ms_value_size(name, value, (uint64_t)p->minimum, member, err);
}

static ms_status set_count(const place *p, const char *name, const char *value, void *member,
                           ms_arena *arena, ms_error *err)
{
    (void)arena;
    return ms_value_count(name, value, (uint64_t)p->minimum, (uint64_t)p->maximum, member, err);
}

static ms_status set_number(const place *p, const char *name, const char *value, void *member,
                            ms_arena *arena, ms_error *err)
{
    (void)arena;
    char expected[64];
    snprintf(expected, sizeof expected, "a number from %.0f to %.0f", p->minimum, p->maximum);
    return ms_value_number(name, value, p->minimum, p->maximum, expected, member, err);
}

static ms_status set_flag(const place *p, const char *name, const char *value, void *member,
                          ms_arena *arena, ms_error *err)
{
    (void)p, (void)arena;
    bool *flag = member;
    *flag = strcmp(value, "true") == 0;
    if (!*flag && strcmp(value, "false") != 0)
        return ms_fail(err, MS_ERR_USAGE, "%s: found '%.40s', expected true or false", name, value);
    return MS_OK;
}

static ms_status set_planner(const place *p, const char *name, const char *value, void *member,
                             ms_arena *arena, ms_error *err)
{
    (void)p, (void)arena;
    return ms_value_choice(name, value, ms_planner_names, member, err);
}

static ms_status set_mode(const place *p, const char *name, const char *value, void *member,
                          ms_arena *arena, ms_error *err)
{
    static const char *const modes[] = {[MS_RULES_CONSERVATIVE] = "conservative",
                                        [MS_RULES_BALANCED] = "balanced",
                                        [MS_RULES_AGGRESSIVE] = "aggressive",
                                        NULL};
    (void)p, (void)arena;
    return ms_value_choice(name, value, modes, member, err);
}

enum { MOST_TARGETS = 16 };

/* Stores the name as its row has it. */
static ms_status set_target(const place *p, const char *name, const char *value, void *member,
                            ms_arena *arena, ms_error *err)
{
    (void)p, (void)arena;
    const char *names[MOST_TARGETS + 2] = {NULL}, **target = member;
    size_t count = 0;
    int choice = 0;
    for (; count < MOST_TARGETS && ms_target_at(count); count++)
        names[count] = ms_target_at(count)->name;
    names[count] = "all";
    ms_status status = ms_value_choice(name, value, names, &choice, err);
    if (status == MS_OK)
        *target = names[choice];
    return status;
}

/* By bit of ms_technique. */
static const char *const technique_names[] = {"checkpoint", "selective", "offload",
                                              "tile",       "chunk",     NULL};
_Static_assert(MS_MAY_ALL == (1 << (sizeof technique_names / sizeof technique_names[0] - 1)) - 1,
               "a technique has no name");

/* A comma-separated list of them, or none, as bits. */
static ms_status set_bits(const char *const *choices, const char *name, const char *value,
                          uint32_t *bits, ms_arena *arena, ms_error *err)
{
    uint32_t found = 0;
    char *names = ms_arena_strdup(arena, value);
    if (!names)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %s", name);
    for (char *rest = names, *one; (one = strtok_r(rest, ",", &rest)) != NULL;) {
        int choice = 0;
        if (strcmp(value, "none") == 0)
            break;
        ms_status status = ms_value_choice(name, one, choices, &choice, err);
        if (status != MS_OK)
            return status;
        found |= 1u << choice;
    }
    *bits = found;
    return MS_OK;
}

static ms_status set_techniques(const place *p, const char *name, const char *value, void *member,
                                ms_arena *arena, ms_error *err)
{
    (void)p;
    return set_bits(technique_names, name, value, member, arena, err);
}

static ms_status set_allowances(const place *p, const char *name, const char *value, void *member,
                                ms_arena *arena, ms_error *err)
{
    static const char *const allowances[] = {"host-optimizer", "host-parameters",
                                             NULL}; /* by bit of ms_allowance */
    (void)p;
    return set_bits(allowances, name, value, member, arena, err);
}

/* clang-format off */
static const place places[] = {
#define PLACE(name, value_name, help, default_text, group, kind, member, minimum, maximum) \
    {set_##kind, offsetof(ms_plan_settings, member), minimum, maximum},
    FIELD_LIST(PLACE)
#undef PLACE
};
/* clang-format on */

const ms_run_field *ms_plan_fields(size_t *count)
{
    *count = FIELD_COUNT;
    return fields;
}

ms_status ms_plan_settings_set(ms_plan_settings *settings, ms_arena *arena, const char *field,
                               const char *value, ms_error *err)
{
    size_t row = 0;
    while (row < FIELD_COUNT && strcmp(fields[row].name, field) != 0)
        row++;
    if (row == FIELD_COUNT)
        return ms_fail(err, MS_ERR_USAGE, "a plan has no field \"%.40s\"", field);
    const place *p = &places[row];
    return p->set(p, field, value, (char *)settings + p->offset, arena, err);
}
