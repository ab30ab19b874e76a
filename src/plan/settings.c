/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "config/values.h"
#include "plan/plan.h"

/* The row of a field: what the public ms_run_field says, then how it is read, and its member, least
 * and largest value. */
/* clang-format off */
#define FIELD_LIST(X) \
    X("graph",         "FILE",     "plan checkpoints for the modules in this ModuleInfo file", NULL,    "Plan for modules",   TEXT,   graph,           0, 0)   \
    X("budget",        "SIZE",     "memory the backward pass may take",                        NULL,    "Plan for modules",   SIZE,   budget_bytes,    1, 0)   \
    X("world-size",    "N",        "ranks that share parameters and gradients",                "1",     "Plan for modules",   COUNT,  world_size,      1, 1e6) \
    X("ac-units",      "A,B,...",  "only these modules may be checkpointed",                   "any",   "Plan for modules",   TEXT,   ac_units,        0, 0)   \
    X("fsdp-units",    "A,B,...",  "modules gathered as a whole",                              "none",  "Plan for modules",   TEXT,   fsdp_units,      0, 0)   \
    X("gap",           "X",        "how far from the optimum a plan may be, relative",         "0.001", "Plan for modules",   NUMBER, gap,             0, 1)   \
    X("time-limit",    "SECONDS",  "answer with the best plan found by then",                  "10",    "Plan for modules",   NUMBER, time_limit_s,    0, 1e6) \
    X("fsdp",          NULL,       "choose FSDP units instead of checkpoints",                 NULL,    "Plan for modules",   FLAG,   fsdp,            0, 0)   \
    X("latency",       "MS",       "of a gathering or scattering, for --fsdp",                 "0.01",  "Plan for modules",   NUMBER, latency_ms,      0, 1e6) \
    X("bandwidth",     "SIZE",     "gathered or scattered in a second, for --fsdp",            "100GB", "Plan for modules",   SIZE,   bandwidth_bytes, 1, 0)   \
    X("ops",           "FILE",     "plan what to save of the operators in this SACStats file", NULL,    "Plan for operators", TEXT,   ops,             0, 0)   \
    X("memory-budget", "FRACTION", "of all operators' memory, from 0 to 1",                    NULL,    "Plan for operators", NUMBER, memory_budget,   0, 1)

static const ms_run_field fields[] = {
#define FIELD(name, value_name, help, default_text, group, kind, member, minimum, maximum) \
    {name, value_name, help, default_text, group},
    FIELD_LIST(FIELD)
#undef FIELD
};
/* clang-format on */
enum { FIELD_COUNT = sizeof fields / sizeof fields[0] };

typedef enum value_kind {
    VALUE_TEXT,
    VALUE_SIZE,
    VALUE_COUNT,
    VALUE_NUMBER,
    VALUE_FLAG
} value_kind;

typedef struct place {
    value_kind kind;
    size_t offset;
    double minimum, maximum;
} place;

/* clang-format off */
static const place places[] = {
#define PLACE(name, value_name, help, default_text, group, kind, member, minimum, maximum) \
    {VALUE_##kind, offsetof(ms_plan_settings, member), minimum, maximum},
    FIELD_LIST(PLACE)
#undef PLACE
};
/* clang-format on */

const ms_run_field *ms_plan_fields(size_t *count)
{
    *count = FIELD_COUNT;
    return fields;
}

static ms_status set_number(const char *name, const place *p, const char *value, double *member,
                            ms_error *err)
{
    char expected[64];
    snprintf(expected, sizeof expected, "a number from %.0f to %.0f", p->minimum, p->maximum);
    return ms_value_number(name, value, p->minimum, p->maximum, expected, member, err);
}

static ms_status set_flag(const char *name, const char *value, bool *member, ms_error *err)
{
    *member = strcmp(value, "true") == 0;
    if (!*member && strcmp(value, "false") != 0)
        return ms_fail(err, MS_ERR_USAGE, "%s: found '%.40s', expected true or false", name, value);
    return MS_OK;
}

ms_status ms_plan_set(ms_plan *plan, const char *field, const char *value, ms_error *err)
{
    size_t row = 0;
    while (row < FIELD_COUNT && strcmp(fields[row].name, field) != 0)
        row++;
    if (row == FIELD_COUNT)
        return ms_fail(err, MS_ERR_USAGE, "a plan has no field \"%.40s\"", field);
    const place *p = &places[row];
    void *member = (char *)&plan->settings + p->offset;
    switch (p->kind) {
    case VALUE_TEXT:
        return ms_value_text(field, value, plan->arena, member, err);
    case VALUE_SIZE:
        return ms_value_size(field, value, (uint64_t)p->minimum, member, err);
    case VALUE_COUNT:
        return ms_value_count(field, value, (uint64_t)p->minimum, (uint64_t)p->maximum, member,
                              err);
    case VALUE_NUMBER:
        return set_number(field, p, value, member, err);
    case VALUE_FLAG:
        return set_flag(field, value, member, err);
    }
    return ms_fail(err, MS_ERR_INTERNAL, "no such kind of value");
}
