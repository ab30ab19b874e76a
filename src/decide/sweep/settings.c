/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/sweep/settings.h"

#include <string.h>

#include "base/json/number.h"
#include "base/threads.h"
#include "decide/sweep/frontier.h"
#include "decide/sweep/rows.h"
#include "input/config/fields/kinds.h"

/* ---- kinds of a sweep's own ---- */

static const char *largest_at(size_t index)
{
    const ms_fit_what *what = ms_fit_what_at(index);
    return what && what->kind != MS_FIT_GPUS ? what->name : NULL; /* the last: see check */
}

static ms_status set_largest(const ms_config_field *field, const char *value, void *member,
                             ms_arena *arena, ms_error *err)
{
    (void)field, (void)arena;
    return ms_fit_what_find(value, member, err);
}

static ms_status set_share(const ms_config_field *field, const char *value, void *member,
                           ms_arena *arena, ms_error *err)
{
    enum { MOST_SHARDS = 1000000 };
    (void)arena;
    const char *slash = strchr(value, '/');
    uint64_t number = 0, count = 0, *share = member;
    if (!slash || ms_number_count(value, (size_t)(slash - value), &number) != MS_COUNT_OK ||
        ms_number_count(slash + 1, strlen(slash + 1), &count) != MS_COUNT_OK || number == 0 ||
        number > count || count > MOST_SHARDS)
        return ms_fail(err, MS_ERR_USAGE,
                       "%s: found '%.40s', expected its number and how many there are, such as 2/8",
                       field->name, value);
    share[0] = number - 1;
    share[1] = count;
    return MS_OK;
}

static ms_status set_objectives(const ms_config_field *field, const char *value, void *member,
                                ms_arena *arena, ms_error *err)
{
    ms_status status = ms_rows_check_objectives(value, err);
    return status == MS_OK ? ms_config_set_word(field, value, member, arena, err) : status;
}

/* const ms_fit_what * */
static const ms_config_kind ms_config_kind_largest = {
    .bytes = sizeof(const ms_fit_what *), .set = set_largest, .show = ms_config_show_nothing};

/* uint64_t[2]: which, from 0, of how many */
static const ms_config_kind ms_config_kind_share = {
    .bytes = 2 * sizeof(uint64_t), .set = set_share, .show = ms_config_show_nothing};

/* const char * */
static const ms_config_kind ms_config_kind_objectives = {
    .bytes = sizeof(const char *), .set = set_objectives, .show = ms_config_show_text};

/* ---- the rows ---- */

#define AT(member)                                                                                 \
    .offset = offsetof(ms_sweep_settings, member),                                                 \
    .bytes = sizeof((ms_sweep_settings *)NULL)->member

static const ms_run_field texts[] = {
#define TEXTS(name, value_name, help, default_text, group, ...)                                    \
    {name, value_name, help, default_text, group},
    MS_SWEEP_FIELD_LIST(TEXTS)
#undef TEXTS
};

static const ms_config_field rows[] = {
#define ROW(row_name, value_name, help, default_text, group, row_kind, ...)                        \
    {.name = row_name, .kind = &ms_config_kind_##row_kind, __VA_ARGS__},
    MS_SWEEP_FIELD_LIST(ROW)
#undef ROW
};

const ms_config_table ms_sweep_table = {.texts = texts,
                                        .rows = rows,
                                        .count = MS_SWEEP_FIELD_COUNT,
                                        .is_set = offsetof(ms_sweep_settings, is_set)};

ms_status ms_sweep_settings_init(ms_sweep_settings *settings, ms_arena *arena, ms_error *err)
{
    *settings = (ms_sweep_settings){0};
    return ms_config_field_fill(&ms_sweep_table, settings, arena, err);
}

const char *ms_sweep_usual_objectives(void)
{
    return texts[ms_config_field_find(&ms_sweep_table, "objectives")].default_text;
}

ms_status ms_sweep_settings_set(ms_sweep_settings *settings, ms_arena *arena, const char *field,
                                const char *value, ms_error *err)
{
    return ms_config_field_set(&ms_sweep_table, settings, arena, field, value, err);
}

ms_status ms_sweep_settings_check(const ms_sweep_settings *s, ms_error *err)
{
    if (s->step && !s->fit)
        return ms_fail(err, MS_ERR_USAGE, "step works only with fit");
    if (s->frontier && s->shards > 1)
        return ms_fail(err, MS_ERR_USAGE,
                       "frontier: a shard has only its own rows; join the shards first, with "
                       "memscope merge --frontier");
    return MS_OK;
}
