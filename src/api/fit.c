/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memscope/fit.h"

#include <stdlib.h>
#include <string.h>

#include "api/run.h"
#include "base/error.h"
#include "input/config/model/model_config.h"
#include "input/config/resolve/resolve.h"
#include "decide/fit/fit.h"
#include "report/others/fit_report.h"
#include "report/writers.h"
#include "model/load.h"

struct ms_fit {
    ms_arena *arena;
    ms_model_config model;
    ms_run_config run, shared;
    ms_notes notes;
    ms_fit_answer answer;
    ms_style style;
};

const char *ms_fit_format_at(size_t index)
{
    return ms_writer_name_at(MS_DOCUMENT_FIT, index);
}

const char *ms_fit_what_name(size_t index)
{
    const ms_fit_what *what = ms_fit_what_at(index);
    return what ? what->name : NULL;
}

void ms_fit_free(ms_fit *fit)
{
    if (!fit)
        return;
    ms_arena_free(fit->arena);
    free(fit);
}

static ms_status find(const ms_run *run, const char *name, uint64_t step, ms_fit *fit,
                      ms_error *err)
{
    const ms_fit_what *what = NULL;
    ms_status status = ms_fit_what_find(name, &what, err);
    if (status != MS_OK)
        return status;
    fit->arena = ms_arena_create(0);
    if (!fit->arena)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory");
    ms_arena_set_inputs(fit->arena, run->inputs);
    const ms_loaded into = {&fit->model, &fit->run, &fit->notes};
    const ms_run_setting *settings = run->settings.items;
    size_t count = run->settings.count;
    if (what->kind == MS_FIT_GPUS)
        status = ms_run_load_shared(fit->arena, settings, count, &into, &fit->shared, err);
    else
        status = ms_run_load(fit->arena, settings, count, into.model, into.run, into.notes, err);
    fit->run.watch = fit->shared.watch = run->watch;
    const ms_fit_question question = {what, step, &fit->model, &fit->run, &fit->shared};
    if (status == MS_OK)
        status = ms_fit_search(fit->arena, &question, &fit->answer, err);
    if (status == MS_OK)
        status = ms_fit_find_mixed(fit->arena, &question, &fit->answer, err);
    fit->run.watch = fit->shared.watch = NULL;
    return status;
}

ms_fit *ms_fit_find(const ms_run *run, const char *what, uint64_t step, ms_error *err)
{
    if (!run || !what)
        return (void)ms_fail_null(err), NULL;
    ms_fit *fit = calloc(1, sizeof *fit);
    if (!fit) {
        ms_error_set(err, MS_ERR_NOMEM, "out of memory");
        return NULL;
    }
    fit->style = (ms_style){.columns = 80};
    if (find(run, what, step, fit, err) == MS_OK)
        return fit;
    ms_fit_free(fit);
    return NULL;
}

uint64_t ms_fit_value(const ms_fit *fit)
{
    if (!fit)
        return 0;
    return fit->answer.value;
}

uint64_t ms_fit_safe_value(const ms_fit *fit)
{
    return fit ? fit->answer.safe_value : 0;
}

ms_fit_verdict ms_fit_verdict_of(const ms_fit *fit)
{
    if (!fit)
        return MS_VERDICT_NO;
    const ms_fit_view view = {&fit->model, &fit->run, &fit->answer, &fit->style};
    return ms_fit_answer_verdict(&view);
}

const char *ms_fit_note(const ms_fit *fit, size_t index)
{
    if (!fit)
        return NULL;
    return ms_note_at(&fit->notes, index);
}

void ms_fit_set_style(ms_fit *fit, const ms_style *style)
{
    if (!fit || !style)
        return;
    fit->style = *style;
}

ms_status ms_fit_write(const ms_fit *fit, const char *format, FILE *out, ms_error *err)
{
    if (!fit || !format || !out)
        return ms_fail_null(err);
    const ms_fit_view view = {&fit->model, &fit->run, &fit->answer, &fit->style};
    const ms_writer *writer = ms_writer_find(MS_DOCUMENT_FIT, format, err);
    return writer ? ms_writer_write(writer, &view, fit->arena, out, err) : MS_ERR_USAGE;
}
