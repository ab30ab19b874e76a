/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api/run.h"

#include <stdlib.h>

#include "base/error.h"
#include "input/config/run/run_fields.h"

const ms_run_field *ms_run_fields(size_t *count)
{
    if (!count)
        return NULL;
    *count = ms_run_table.count;
    return ms_run_table.texts;
}

const char *const *ms_run_field_choices(const char *name)
{
    if (!name)
        return NULL;
    int index = ms_run_field_find(name);
    if (index < 0)
        return NULL;
    const ms_config_field *row = &ms_run_table.rows[index];
    return row->choices ? row->choices : row->kind->choices;
}

const char *ms_run_field_example(const char *name, size_t index)
{
    int row = name ? ms_run_field_find(name) : -1;
    return row < 0 ? NULL : ms_config_field_example(&ms_run_table.rows[row], index);
}

const char *ms_run_field_missing(const char *name)
{
    return name && ms_run_field_find(name) < 0 ? ms_run_table.why_not(name) : NULL;
}

const ms_run_word *ms_run_word_at(size_t index)
{
    return ms_run_words_row(index);
}

ms_run *ms_run_create(void)
{
    ms_run *run = calloc(1, sizeof *run);
    if (!run)
        return NULL;
    run->arena = ms_arena_create(0);
    if (run->arena)
        return run;
    ms_run_free(run);
    return NULL;
}

void ms_run_free(ms_run *run)
{
    if (!run)
        return;
    ms_vec_free(&run->settings);
    ms_arena_free(run->arena);
    free(run);
}

void ms_run_set_inputs(ms_run *run, ms_inputs *inputs)
{
    if (run)
        run->inputs = inputs;
}

void ms_run_set_watch(ms_run *run, ms_watch *watch)
{
    if (run)
        run->watch = watch;
}

ms_status ms_run_set(ms_run *run, const char *field, const char *value, ms_error *err)
{
    if (!run || !field || !value)
        return ms_fail_null(err);
    ms_status status = ms_run_field_set(&run->draft, run->arena, field, value, err);
    if (status != MS_OK)
        return status;
    ms_run_setting setting = {ms_arena_strdup(run->arena, field),
                              ms_arena_strdup(run->arena, value)};
    if (!setting.field || !setting.value || !ms_vec_push(&run->settings, setting))
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the run");
    return MS_OK;
}
