/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sweep/settings.h"

#include <inttypes.h>
#include <string.h>

#include "base/ordered.h"
#include "text/nearest.h"
#include "text/values.h"
#include "json/number.h"
#include "sweep/rows.h"

enum { MOST_SHARDS = 1000000 };

const ms_sweep_settings ms_sweep_defaults = {.shards = 1,
                                             .objectives = "expected_device_bytes,tokens_per_s"};

typedef ms_status (*setter)(ms_sweep_settings *s, ms_arena *arena, const char *value,
                            ms_error *err);

static ms_status set_runs(ms_sweep_settings *s, ms_arena *arena, const char *value, ms_error *err)
{
    return ms_value_text("runs", value, arena, &s->runs, err);
}

static ms_status set_fit(ms_sweep_settings *s, ms_arena *arena, const char *value, ms_error *err)
{
    (void)arena;
    return ms_fit_what_find(value, &s->fit, err);
}

static ms_status set_step(ms_sweep_settings *s, ms_arena *arena, const char *value, ms_error *err)
{
    (void)arena;
    return ms_value_count("step", value, 1, UINT64_MAX, &s->step, err);
}

static ms_status set_shard(ms_sweep_settings *s, ms_arena *arena, const char *value, ms_error *err)
{
    (void)arena;
    const char *slash = strchr(value, '/');
    uint64_t number = 0, count = 0;
    if (!slash || ms_number_count(value, (size_t)(slash - value), &number) != MS_COUNT_OK ||
        ms_number_count(slash + 1, strlen(slash + 1), &count) != MS_COUNT_OK || number == 0 ||
        number > count || count > MOST_SHARDS)
        return ms_fail(
            err, MS_ERR_USAGE,
            "shard: found '%.40s', expected its number and how many there are, such as 2/8", value);
    s->shard = number - 1;
    s->shards = count;
    return MS_OK;
}

static ms_status set_jobs(ms_sweep_settings *s, ms_arena *arena, const char *value, ms_error *err)
{
    (void)arena;
    return ms_value_count("jobs", value, 1, MS_ORDERED_MOST_THREADS, &s->jobs, err);
}

static ms_status set_format(ms_sweep_settings *s, ms_arena *arena, const char *value, ms_error *err)
{
    (void)arena;
    int format = 0;
    ms_status status = ms_value_choice("format", value, ms_row_format_names, &format, err);
    s->format = (ms_row_format)format;
    return status;
}

static ms_status set_frontier(ms_sweep_settings *s, ms_arena *arena, const char *value,
                              ms_error *err)
{
    (void)arena, (void)err;
    s->frontier = strcmp(value, "true") == 0;
    return MS_OK;
}

static ms_status set_objectives(ms_sweep_settings *s, ms_arena *arena, const char *value,
                                ms_error *err)
{
    ms_status status = ms_rows_check_objectives(value, err);
    return status == MS_OK ? ms_value_text("objectives", value, arena, &s->objectives, err)
                           : status;
}

/* The members of the public ms_run_field, then how it is set. */
#define TITLE "Sweep"
/* clang-format off */
#define FIELD_LIST(X) \
    X("runs",       "FILE", "CSV: a header of option names, then one run per line; - is standard input", "none", set_runs)       \
    X("fit",        "NAME", "find the largest batch, seq, rank or layers that fits, for each point",       "none", set_fit)        \
    X("step",       "N",    "for --fit: try only multiples of N",                      "1, for seq 64", set_step)               \
    X("frontier",   NULL,   "only rows that fit and are on the Pareto front",                        NULL,   set_frontier)   \
    X("objectives", "LIST", "for --frontier: columns to compare rows by",                                                 \
      "expected_device_bytes,tokens_per_s", set_objectives)                                                                  \
    X("shard",      "K/N",  "only every N-th point, from the K-th; memscope merge joins shards",     "1/1",  set_shard)      \
    X("jobs",       "N",    "points computed in parallel",                                   "one per processor", set_jobs)     \
    X("format",     "NAME", "csv or jsonl",                                                          "csv",  set_format)

static const ms_run_field fields[] = {
#define FIELD(name, value_name, help, default_text, set) {name, value_name, help, default_text, TITLE},
    FIELD_LIST(FIELD)
#undef FIELD
};

static const setter setters[] = {
#define SETTER(name, value_name, help, default_text, set) set,
    FIELD_LIST(SETTER)
#undef SETTER
};
/* clang-format on */
enum { FIELDS = sizeof fields / sizeof fields[0] };

const ms_run_field *ms_sweep_settings_fields(size_t *count)
{
    *count = FIELDS;
    return fields;
}

ms_status ms_sweep_settings_set(ms_sweep_settings *settings, ms_arena *arena, const char *field,
                                const char *value, ms_error *err)
{
    char hint[64];
    ms_nearest nearest = ms_nearest_to(field);
    for (size_t i = 0; i < FIELDS; i++) {
        if (ms_name_equal(fields[i].name, field))
            return setters[i](settings, arena, value, err);
        ms_nearest_offer(&nearest, fields[i].name);
    }
    return ms_fail(err, MS_ERR_USAGE, "no field '%.40s' of a sweep%s", field,
                   ms_nearest_hint(&nearest, hint, sizeof hint));
}

ms_status ms_sweep_settings_check(const ms_sweep_settings *s, ms_error *err)
{
    if (s->step && !s->fit)
        return ms_fail(err, MS_ERR_USAGE, "step is only for fit");
    if (s->frontier && s->shards > 1)
        return ms_fail(err, MS_ERR_USAGE,
                       "frontier: a shard has only its own rows; join the shards first: "
                       "memscope merge --frontier");
    return MS_OK;
}
