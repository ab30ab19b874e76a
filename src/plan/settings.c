/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "config/size.h"
#include "json/number.h"
#include "json/value.h"
#include "plan/plan.h"

/* clang-format off */
static const ms_run_field fields[] = {
    {"graph",         "FILE",     "plan checkpoints for the modules in this ModuleInfo file",  NULL,    "Plan for modules"},
    {"budget",        "SIZE",     "memory the backward pass may take",                         NULL,    "Plan for modules"},
    {"world-size",    "N",        "ranks that share parameters and gradients",                 "1",     "Plan for modules"},
    {"ac-units",      "A,B,...",  "only these modules may be checkpointed",                    "any",   "Plan for modules"},
    {"fsdp-units",    "A,B,...",  "modules gathered as a whole",                               "none",  "Plan for modules"},
    {"gap",           "X",        "how far from the optimum a plan may be, relative",          "0.001", "Plan for modules"},
    {"time-limit",    "SECONDS",  "answer with the best plan found by then",                   "10",    "Plan for modules"},
    {"fsdp",          NULL,       "choose FSDP units instead of checkpoints",                  NULL,    "Plan for modules"},
    {"latency",       "MS",       "of a gathering or scattering, for --fsdp",                  "0.01",  "Plan for modules"},
    {"bandwidth",     "SIZE",     "gathered or scattered in a second, for --fsdp",             "100GB", "Plan for modules"},
    {"ops",           "FILE",     "plan what to save of the operators in this SACStats file",  NULL,    "Plan for operators"},
    {"memory-budget", "FRACTION", "of all operators' memory, from 0 to 1",                     NULL,    "Plan for operators"},
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

/* In the order of the fields. */
static const struct {
    const char *name;
    value_kind kind;
    size_t offset;
    double minimum, maximum;
} places[] = {
    {"graph", VALUE_TEXT, offsetof(ms_plan_settings, graph), 0, 0},
    {"budget", VALUE_SIZE, offsetof(ms_plan_settings, budget_bytes), 0, 0},
    {"world-size", VALUE_COUNT, offsetof(ms_plan_settings, world_size), 1, 1e6},
    {"ac-units", VALUE_TEXT, offsetof(ms_plan_settings, ac_units), 0, 0},
    {"fsdp-units", VALUE_TEXT, offsetof(ms_plan_settings, fsdp_units), 0, 0},
    {"gap", VALUE_NUMBER, offsetof(ms_plan_settings, gap), 0, 1},
    {"time-limit", VALUE_NUMBER, offsetof(ms_plan_settings, time_limit_s), 0, 1e6},
    {"fsdp", VALUE_FLAG, offsetof(ms_plan_settings, fsdp), 0, 0},
    {"latency", VALUE_NUMBER, offsetof(ms_plan_settings, latency_ms), 0, 1e6},
    {"bandwidth", VALUE_SIZE, offsetof(ms_plan_settings, bandwidth_bytes), 0, 0},
    {"ops", VALUE_TEXT, offsetof(ms_plan_settings, ops), 0, 0},
    {"memory-budget", VALUE_NUMBER, offsetof(ms_plan_settings, memory_budget), 0, 1},
};

const ms_run_field *ms_plan_fields(size_t *count)
{
    *count = FIELD_COUNT;
    return fields;
}

static ms_status set_count(size_t row, const char *value, uint64_t *member, ms_error *err)
{
    uint64_t count;
    if (ms_number_count(value, strlen(value), &count) != MS_COUNT_OK ||
        count < (uint64_t)places[row].minimum || count > (uint64_t)places[row].maximum)
        return ms_fail(err, MS_ERR_USAGE,
                       "%s: found '%.40s', expected a whole number from %.0f to %.0f",
                       places[row].name, value, places[row].minimum, places[row].maximum);
    *member = count;
    return MS_OK;
}

/* A number of JSON's grammar, read in no locale but C. */
static ms_status set_number(size_t row, const char *value, double *member, ms_error *err)
{
    ms_json_source source = {.name = "value", .text = value, .length = strlen(value)};
    ms_json *document = NULL;
    ms_error inner = {.status = MS_OK};
    double number = -1;
    ms_status status = ms_json_parse(&source, &document, &inner);
    if (status == MS_OK)
        status = ms_json_get_number(ms_json_root(document), places[row].minimum,
                                    places[row].maximum, &number, &inner);
    ms_json_free(document);
    if (status == MS_ERR_NOMEM)
        return ms_fail(err, status, "out of memory");
    if (status != MS_OK)
        return ms_fail(err, MS_ERR_USAGE, "%s: found '%.40s', expected a number from %.0f to %.0f",
                       places[row].name, value, places[row].minimum, places[row].maximum);
    *member = number;
    return MS_OK;
}

static ms_status set_text(ms_plan *plan, const char *value, const char **member, ms_error *err)
{
    char *copy = ms_arena_strdup(plan->arena, value);
    if (!copy)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory");
    *member = copy;
    return MS_OK;
}

static ms_status set_size(size_t row, const char *value, uint64_t *member, ms_error *err)
{
    ms_status status = ms_size_parse(value, member, err);
    if (status == MS_OK && *member == 0)
        return ms_fail(err, MS_ERR_USAGE, "%s: is zero", places[row].name);
    return status;
}

static ms_status set_flag(size_t row, const char *value, bool *member, ms_error *err)
{
    *member = strcmp(value, "true") == 0;
    if (!*member && strcmp(value, "false") != 0)
        return ms_fail(err, MS_ERR_USAGE, "%s: found '%.40s', expected true or false",
                       places[row].name, value);
    return MS_OK;
}

ms_status ms_plan_set(ms_plan *plan, const char *field, const char *value, ms_error *err)
{
    size_t row = 0;
    while (row < FIELD_COUNT && strcmp(places[row].name, field) != 0)
        row++;
    if (row == FIELD_COUNT)
        return ms_fail(err, MS_ERR_USAGE, "a plan has no field \"%.40s\"", field);
    void *member = (char *)&plan->settings + places[row].offset;
    switch (places[row].kind) {
    case VALUE_TEXT:
        return set_text(plan, value, member, err);
    case VALUE_SIZE:
        return set_size(row, value, member, err);
    case VALUE_COUNT:
        return set_count(row, value, member, err);
    case VALUE_NUMBER:
        return set_number(row, value, member, err);
    case VALUE_FLAG:
        return set_flag(row, value, member, err);
    }
    return ms_fail(err, MS_ERR_INTERNAL, "no such kind of value");
}
