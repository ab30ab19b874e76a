/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checks the runs of a budgets file in parallel, and derives their verdicts.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/analysis.h"
#include "api/check/baseline.h"
#include "api/check/fix.h"
#include "api/diff.h"
#include "api/read_report.h"
#include "base/error.h"
#include "base/json/read.h"
#include "base/text/output.h"
#include "base/threads.h"
#include "decide/check/budgets.h"
#include "decide/check/verdict.h"
#include "input/config/model/input.h"
#include "memscope/check.h"
#include "memscope/infer.h"
#include "memscope/inputs.h"
#include "report/check/check_view.h"
#include "report/writers.h"
#include "run/simulate/simulate.h"

/* ---- point ---- */

/* Where a budgets file has what went wrong. */

/* A file, or one in a folder that is named. */
static bool leads_to(const char *named, const char *file)
{
    size_t length = named ? strlen(named) : 0;
    return length > 0 && strncmp(named, file, length) == 0 &&
           (!file[length] || file[length] == '/' || named[length - 1] == '/');
}

/* The first text at or below a value that names the file. */
static bool find_text(ms_arena *arena, const char *path, const char *file, ms_json_value value,
                      ms_json_value *found)
{
    ms_json_value v;
    ms_error ignored = {.status = MS_OK};
    const char *text = NULL;
    if (ms_json_kind_of(value) == MS_JSON_STRING) {
        *found = value;
        return ms_json_get_string(value, &text, &ignored) == MS_OK && *text &&
               leads_to(ms_path_beside(arena, path, text), file);
    }
    if (ms_json_kind_of(value) != MS_JSON_OBJECT)
        return false;
    for (bool more = ms_json_first(value, &v); more; more = ms_json_next(&v))
        if (find_text(arena, path, file, v, found))
            return true;
    return false;
}

static const ms_error *place_of_file(ms_arena *arena, const char *path, const ms_budget *b,
                                     const char *file)
{
    ms_json_value top = b->infer.document ? b->infer : b->run, found;
    return *file && top.document && find_text(arena, path, file, top, &found)
               ? ms_place_of(arena, found, MS_JSON_AT_VALUE)
               : NULL;
}

/* Gives an error that has no line of its own a place in the budgets file, `path`: the text of the
 * budget's run or deployment that names the error's file, otherwise `place`. */
static void budget_point(ms_arena *arena, const char *path, const ms_budget *b,
                         const ms_error *place, ms_error *err)
{
    if (err->status == MS_OK || (err->file[0] && err->line))
        return;
    ms_error said = *err;
    const ms_error *nearer = place_of_file(arena, path, b, said.file);
    *err = (ms_error){0};
    ms_error_set(err, said.status, "%s%s%.200s", said.file, said.file[0] ? ": " : "", said.text);
    ms_error_copy_place(err, nearer ? nearer : place);
    memcpy(err->more, said.more, sizeof err->more);
}

/* ---- deployment ---- */

/* A budget of inference: "infer" of an entry. */

static const char *value_text(ms_arena *arena, ms_json_value value, ms_error *err)
{
    const char *text = NULL;
    size_t bytes;
    if (ms_json_kind_of(value) == MS_JSON_STRING)
        return ms_json_get_string(value, &text, err) == MS_OK ? ms_arena_strdup(arena, text) : NULL;
    if (ms_json_kind_of(value) == MS_JSON_BOOL) {
        bool is_yes = false;
        return ms_json_get_bool(value, &is_yes, err) == MS_OK ? (is_yes ? "yes" : "no") : NULL;
    }
    if (ms_json_kind_of(value) != MS_JSON_NUMBER)
        return (void)ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                                  "expected a text, a number or a boolean"),
               NULL;
    text = ms_json_source_text(value, &bytes);
    return ms_arena_printf(arena, "%.*s", (int)bytes, text);
}

static ms_status set_member(ms_arena *arena, ms_inference *n, ms_json_value value, ms_error *err)
{
    ms_error reason = {.status = MS_OK};
    const char *text = value_text(arena, value, err);
    if (!text && err->status != MS_OK)
        return err->status;
    if (!text)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory");
    if (strcmp(ms_json_key(value), "fit") == 0)
        return ms_json_fail(err, value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "a budget cannot use fit, because its settings must be known");
    ms_status status = ms_inference_set(n, ms_json_key(value), text, &reason);
    return status == MS_OK
               ? MS_OK
               : ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "%s", reason.text);
}

/* Sets all but the model, which is found beside the file. */
static ms_status set_members(ms_arena *arena, const ms_budget *b, const char *path, ms_inference *n,
                             const char **model, ms_error *err)
{
    ms_json_value v;
    ms_status status = MS_OK;
    for (bool more = ms_json_first(b->infer, &v); more && status == MS_OK; more = ms_json_next(&v))
        if (strcmp(ms_json_key(v), "model") != 0)
            status = set_member(arena, n, v, err);
        else if ((status = ms_json_get_string(v, model, err)) == MS_OK)
            *model = ms_path_beside(arena, path, *model);
    if (status == MS_OK && b->device)
        status = ms_inference_set(n, "device", b->device, err);
    if (status == MS_OK && !*model)
        return ms_json_fail(err, b->infer, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "expected a \"model\" in \"infer\"");
    return status;
}

static ms_status write_text(const ms_inference *n, char **text, size_t *length, ms_error *err)
{
    FILE *out = open_memstream(text, length);
    if (!out)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for a report");
    ms_status status = ms_inference_write(n, "json", out, err);
    if (fclose(out) != 0 && status == MS_OK)
        status = ms_fail(err, MS_ERR_NOMEM, "no memory for a report");
    return status;
}

/* Predicts the entry's deployment. The caller frees *text, the JSON of infer. `path`: of the
 * budgets file. An error of a setting has its place. */
static ms_status deployment_text(ms_arena *arena, const ms_budget *b, const char *path,
                                 ms_inputs *inputs, char **text, size_t *length, ms_error *err)
{
    const char *model = NULL;
    ms_inference *n = ms_inference_create();
    if (!n)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for a prediction of inference");
    ms_inference_set_inputs(n, inputs);
    ms_status status = set_members(arena, b, path, n, &model, err);
    if (status == MS_OK)
        status = ms_inference_predict(n, model, err);
    if (status == MS_OK)
        status = write_text(n, text, length, err);
    ms_inference_free(n);
    return status;
}

/* The same text as a report. */
static ms_status deployment_report(ms_arena *arena, const char *text, size_t length,
                                   ms_report *report, ms_error *err)
{
    ms_json *document = NULL;
    const ms_json_source source = {"report", text, length};
    ms_status status = ms_json_parse(&source, &document, err);
    if (status == MS_OK && ms_json_kind_of(ms_json_root(document)) == MS_JSON_ARRAY)
        status = ms_fail(err, MS_ERR_CONFIG,
                         "a budget describes one deployment, so its settings take no lists");
    if (status == MS_OK)
        status = ms_report_read(arena, ms_json_root(document), report, err);
    ms_json_free(document);
    return status;
}

/* ---- check ---- */

/* What one budget needs for itself, so that they can be worked on side by side. */
typedef struct entry {
    ms_arena *arena;
    char *text; /* for baselines, and of inference: the report */
    size_t length;
} entry;

struct ms_check {
    ms_arena *arena;
    const char *path;
    char *text;
    ms_json *document;
    ms_check_options options;
    ms_inputs *own_inputs;      /* where the options have none; else NULL */
    ms_calibration calibration; /* device NULL: none */
    ms_budgets budgets;
    ms_verdict *verdicts; /* in the order of the file */
    const ms_verdict **worst_first;
    entry *entries;
    ms_baseline_state *states; /* of for_baselines */
    ms_style style;
    const char *root, *folder; /* see ms_check_set_root */
};

void ms_check_free(ms_check *check)
{
    if (!check)
        return;
    for (uint32_t i = 0; check->entries && i < check->budgets.count; i++) {
        ms_arena_free(check->entries[i].arena);
        free(check->entries[i].text);
    }
    ms_json_free(check->document);
    free(check->text);
    ms_arena_free(check->arena);
    ms_inputs_free(check->own_inputs);
    free(check);
}

/* ---- one budget ---- */

static ms_analysis *analyze_with(const ms_check *check, entry *e, const ms_budget *b,
                                 const char *calibration, ms_error *err)
{
    ms_inputs *inputs = ms_arena_inputs(check->arena);
    ms_run_setting settings[3];
    size_t count = 0;
    if (b->config)
        settings[count++] = (ms_run_setting){"config", b->config};
    if (b->device)
        settings[count++] = (ms_run_setting){"device", b->device};
    if (calibration)
        settings[count++] = (ms_run_setting){"calibration", calibration};
    ms_analysis *analysis =
        b->config ? ms_analyze_settings(settings, count, inputs, err)
                  : ms_analyze_value(b->run, check->path, settings, count, inputs, err);
    budget_point(e->arena, check->path, b, b->config_place, err);
    return analysis;
}

/* A calibration is of one device; budgets of others are as they were. */
static ms_analysis *analyze(const ms_check *check, entry *e, const ms_budget *b, ms_error *err)
{
    const char *of = check->calibration.device;
    ms_analysis *analysis = analyze_with(check, e, b, NULL, err);
    if (!analysis || !of || strcmp(of, analysis->run.device->name) != 0)
        return analysis;
    ms_analysis_free(analysis);
    return analyze_with(check, e, b, check->options.calibration, err);
}

static ms_status read_calibration(ms_check *check, ms_error *err)
{
    ms_json_source source;
    char *text = NULL;
    ms_json *document = NULL;
    ms_status status = ms_json_read(ms_arena_inputs(check->arena), check->options.calibration,
                                    &source, &text, err);
    if (status == MS_OK)
        status = ms_json_parse(&source, &document, err);
    if (status == MS_OK)
        status =
            ms_calibration_read(check->arena, ms_json_root(document), &check->calibration, err);
    ms_json_free(document);
    free(text);
    return status;
}

static ms_status read_baseline(const ms_check *check, ms_arena *arena, ms_verdict *v)
{
    const ms_budget *b = v->budget;
    if (!b->baseline)
        return MS_OK;
    ms_error outside = {.status = MS_OK};
    ms_status status = ms_inputs_admit(ms_arena_inputs(arena), b->baseline, &outside);
    if (status == MS_OK)
        status = ms_report_file_read(arena, b->baseline, &v->before, &v->has_before, &v->error);
    if (outside.status != MS_OK) {
        ms_error_set(&v->error, status, "%.160s: %s", b->baseline, outside.text);
    } else if (status == MS_ERR_IO && v->error.line == 0) {
        v->error = (ms_error){0};
        ms_error_set(&v->error, status,
                     "there is no baseline %.120s; memscope baseline --update writes it",
                     b->baseline);
    } else if (status == MS_OK && !v->has_before) {
        status = ms_fail(&v->error, MS_ERR_CONFIG, "%.160s is not a report", b->baseline);
    } else if (status == MS_OK && v->before.is_plan) {
        status = ms_fail(&v->error, MS_ERR_CONFIG,
                         "%.160s is a plan, but a baseline must be a report", b->baseline);
    }
    budget_point(arena, check->path, b, b->baseline_place, &v->error);
    return status;
}

static ms_status judge(const ms_check *check, const ms_analysis *analysis, entry *e, ms_verdict *v)
{
    const ms_device *device = analysis->run.device;
    v->device_bytes = ms_device_usable_bytes(device);
    ms_status status = ms_analysis_report(analysis, e->arena, &v->report, &v->error);
    if (status == MS_OK)
        status = read_baseline(check, e->arena, v);
    if (status == MS_OK)
        status = ms_verdict_judge(e->arena, v, &v->error);
    if (status == MS_OK && v->outcome == MS_OUTCOME_OVER && !check->options.no_plans)
        status = ms_fix_find(e->arena, analysis, v, &v->error);
    return status == MS_OK ? ms_verdict_locate(e->arena, v, check->path, &v->error) : status;
}

static ms_status look_at_baseline(const ms_check *check, uint32_t index, entry *e, ms_error *err)
{
    const ms_budget *b = &check->budgets.items[index];
    ms_baseline_state *state = &check->states[index];
    if (!b->baseline)
        return MS_OK;
    ms_status status = ms_baseline_admit(b, check->path, ms_arena_inputs(check->arena), state, err);
    return status == MS_OK && state->refusal.status == MS_OK
               ? ms_baseline_look(e->arena, b, e->text, e->length, state, err)
               : status;
}

static ms_status judge_deployment(const ms_check *check, entry *e, ms_verdict *v)
{
    ms_status status = deployment_report(e->arena, e->text, e->length, &v->report, &v->error);
    budget_point(e->arena, check->path, v->budget, v->budget->config_place, &v->error);
    v->device_bytes = v->report.budget_bytes;
    if (status == MS_OK)
        status = read_baseline(check, e->arena, v);
    if (status == MS_OK)
        status = ms_verdict_judge(e->arena, v, &v->error);
    return status == MS_OK ? ms_verdict_locate(e->arena, v, check->path, &v->error) : status;
}

static ms_status check_deployment(const ms_check *check, uint32_t index, entry *e, ms_verdict *v)
{
    const ms_budget *b = v->budget;
    ms_status status = deployment_text(e->arena, b, check->path, ms_arena_inputs(check->arena),
                                       &e->text, &e->length, &v->error);
    budget_point(e->arena, check->path, b, b->config_place, &v->error);
    if (status != MS_OK)
        return status;
    if (!check->options.for_baselines)
        return judge_deployment(check, e, v);
    return look_at_baseline(check, index, e, &v->error);
}

static ms_status check_entry(const ms_check *check, uint32_t index, entry *e, ms_verdict *v)
{
    e->arena = ms_arena_create(0);
    if (!e->arena)
        return ms_fail(&v->error, MS_ERR_NOMEM, "no memory for a check");
    ms_arena_set_inputs(e->arena, ms_arena_inputs(check->arena));
    if (v->budget->infer.document)
        return check_deployment(check, index, e, v);
    ms_analysis *analysis = analyze(check, e, v->budget, &v->error);
    if (!analysis)
        return v->error.status;
    ms_status status = MS_OK;
    if (!check->options.for_baselines)
        status = judge(check, analysis, e, v);
    else if ((status = ms_analysis_text(analysis, &e->text, &e->length, &v->error)) == MS_OK)
        status = look_at_baseline(check, index, e, &v->error);
    ms_analysis_free(analysis);
    return status;
}

static void work(void *context, uint32_t index)
{
    ms_check *check = context;
    ms_verdict *v = &check->verdicts[index];
    ms_status status = ms_watch_check(check->options.watch, &v->error);
    if (status == MS_OK)
        status = check_entry(check, index, &check->entries[index], v);
    ms_watch_count(check->options.watch);
    if (status == MS_OK)
        return;
    v->outcome = MS_OUTCOME_FAILED;
    v->place = v->budget->place;
}

/* ---- all of them ---- */

static int by_badness(const void *a, const void *b)
{
    return ms_verdict_order(*(const ms_verdict *const *)a, *(const ms_verdict *const *)b);
}

static ms_status run(ms_check *check, ms_error *err)
{
    uint32_t count = check->budgets.count;
    check->verdicts = ms_arena_array(check->arena, ms_verdict, count);
    check->worst_first = ms_arena_array(check->arena, const ms_verdict *, count);
    entry *entries = ms_arena_array(check->arena, entry, count);
    check->states = ms_arena_array(check->arena, ms_baseline_state, count);
    if (!check->verdicts || !check->worst_first || !entries || !check->states)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for a check");
    check->entries = entries;
    for (uint32_t i = 0; i < count; i++) {
        check->verdicts[i].budget = &check->budgets.items[i];
        check->worst_first[i] = &check->verdicts[i];
    }
    ms_threads_run_on(check->options.threads, count, work, check);
    qsort(check->worst_first, count, sizeof *check->worst_first, by_badness);
    for (uint32_t i = 0; i < count; i++) /* no answer at all */
        if (check->verdicts[i].error.status == MS_ERR_NOMEM ||
            check->verdicts[i].error.status == MS_ERR_STOPPED)
            return ms_fail(err, check->verdicts[i].error.status, "%s",
                           check->verdicts[i].error.text);
    return check->options.for_baselines
               ? ms_baselines_protect(check->budgets.items, count, ms_arena_inputs(check->arena),
                                      check->states, err)
               : MS_OK;
}

/* Baselines are compared with what was read, so that is listed in any case. */
static ms_inputs *list_inputs(ms_check *check)
{
    if (!check->options.inputs && check->options.for_baselines)
        check->own_inputs = ms_inputs_create();
    return check->own_inputs ? check->own_inputs : check->options.inputs;
}

static ms_status open_file(ms_check *check, const char *path, ms_error *err)
{
    ms_json_source source;
    ms_inputs *inputs = list_inputs(check);
    check->arena = ms_arena_create(0);
    check->path = check->arena ? ms_arena_strdup(check->arena, path) : NULL;
    if (!check->path || (check->options.for_baselines && !inputs))
        return ms_fail(err, MS_ERR_NOMEM, "no memory for a check");
    ms_arena_set_inputs(check->arena, inputs);
    ms_status status =
        ms_json_read(ms_arena_inputs(check->arena), path, &source, &check->text, err);
    if (status == MS_OK)
        status = ms_json_parse(&source, &check->document, err);
    if (status == MS_OK)
        status = ms_budgets_read(check->arena, ms_json_root(check->document), check->path,
                                 &check->budgets, err);
    return status;
}

ms_check *ms_check_run(const char *path, const ms_check_options *options, ms_error *err)
{
    if (!path)
        return (void)ms_fail_null(err), NULL;
    ms_error own = {0};
    ms_check *check = calloc(1, sizeof *check);
    if (!err)
        err = &own;
    if (!check) {
        ms_error_set(err, MS_ERR_NOMEM, "no memory for a check");
        return NULL;
    }
    check->style = (ms_style){.columns = 80};
    if (options)
        check->options = *options;
    ms_status status = open_file(check, path, err);
    if (status == MS_OK && check->options.calibration)
        status = read_calibration(check, err);
    if (status == MS_OK && run(check, err) == MS_OK)
        return check;
    ms_check_free(check);
    return NULL;
}

int ms_check_exit_code(const ms_check *check)
{
    if (!check)
        return ms_status_exit_code(MS_ERR_USAGE);
    return ms_verdicts_exit_code(check->verdicts, check->budgets.count, check->options.warn_only);
}

void ms_check_set_style(ms_check *check, const ms_style *style)
{
    if (!check || !style)
        return;
    check->style = *style;
}

void ms_check_set_root(ms_check *check, const char *root, const char *folder)
{
    if (!check)
        return;
    check->root = root;
    check->folder = folder;
}

const ms_report_format *ms_check_format_at(size_t index)
{
    return ms_writer_format_at(MS_DOCUMENT_CHECK, index);
}

ms_status ms_check_write(const ms_check *check, const char *format, FILE *out, ms_error *err)
{
    if (!check || !format || !out)
        return ms_fail_null(err);
    if (check->options.for_baselines)
        return ms_fail(err, MS_ERR_USAGE, "nothing was checked");
    ms_check_view view = {.count = check->budgets.count,
                          .path = check->path,
                          .root = check->root,
                          .folder = check->folder,
                          .exit_code = ms_check_exit_code(check),
                          .style = check->style};
    const ms_writer *writer = ms_writer_find(MS_DOCUMENT_CHECK, format, err);
    if (!writer)
        return MS_ERR_USAGE;
    ms_status status = ms_check_view_create(check->worst_first, &view, err);
    if (status == MS_OK)
        status = ms_writer_write(writer, &view, view.arena, out, err);
    ms_check_view_free(&view);
    return status;
}

/* ---- baselines ---- */

bool ms_check_baseline(const ms_check *check, size_t index, ms_baseline *baseline)
{
    if (!check || !baseline)
        return false;
    if (index >= check->budgets.count)
        return false;
    const ms_verdict *v = &check->verdicts[index];
    const ms_baseline_state *state = &check->states[index];
    *baseline = (ms_baseline){
        .name = v->budget->name,
        .path = v->budget->baseline,
        .is_current = state->is_current,
        .is_there = state->is_there,
        .refusal = state->refusal.status != MS_OK ? &state->refusal : NULL,
        .error = v->outcome == MS_OUTCOME_FAILED ? &v->error : NULL,
    };
    return true;
}

ms_status ms_check_write_baseline(const ms_check *check, size_t index, FILE *out, ms_error *err)
{
    if (!check || !out)
        return ms_fail_null(err);
    if (index >= check->budgets.count || !check->entries[index].text)
        return ms_fail(err, MS_ERR_USAGE, "there is no such baseline");
    const entry *e = &check->entries[index];
    errno = 0;
    fwrite(e->text, 1, e->length, out);
    return ms_output_finish(out, "a baseline", err);
}
