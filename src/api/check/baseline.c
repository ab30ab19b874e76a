/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api/check/baseline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/inputs.h"
#include "input/document/report.h"
#include "base/json/read.h"

__attribute__((format(printf, 3, 4))) static void refuse(const ms_budget *b, ms_error *refusal,
                                                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    ms_error_vset(refusal, MS_ERR_CONFIG, format, args);
    va_end(args);
    ms_error_copy_place(refusal, b->baseline_place);
}

/* ---- where it is ---- */

/* The folder of the budgets file, resolved, which the caller frees; NULL: out of memory. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path + 1)) : strdup(".");
    char *resolved = folder ? ms_file_resolve(folder) : NULL;
    free(folder);
    return resolved;
}

static ms_status no_path(ms_error *err)
{
    return ms_fail(err, MS_ERR_NOMEM, "no memory for a path");
}

static ms_status admit_beside(const ms_budget *budget, const char *path, ms_baseline_state *state,
                              ms_error *err)
{
    char *folder = folder_of(path);
    if (!folder)
        return no_path(err);
    char *target = ms_file_resolve(budget->baseline);
    bool is_short = !target && errno == ENOMEM;
    if (!is_short && !(target && ms_file_is_within(target, folder)))
        refuse(budget, &state->refusal,
               "%.160s is outside the folder of the budgets and was not written; --root DIR names "
               "a folder that contains both",
               budget->baseline);
    free(folder);
    free(target);
    return is_short ? no_path(err) : MS_OK;
}

ms_status ms_baseline_admit(const ms_budget *budget, const char *path, const ms_inputs *inputs,
                            ms_baseline_state *state, ms_error *err)
{
    ms_error reason = {.status = MS_OK};
    if (!ms_inputs_has_root(inputs))
        return admit_beside(budget, path, state, err);
    ms_status status = ms_inputs_admit(inputs, budget->baseline, &reason);
    if (status == MS_ERR_NOMEM)
        return no_path(err);
    if (status != MS_OK)
        refuse(budget, &state->refusal, "%.160s: %s", budget->baseline, reason.text);
    return MS_OK;
}

/* ---- one of them ---- */

/* MS_ERR_NOMEM, or whether it is a report of one run. */
static ms_status read_report(ms_arena *arena, const ms_json_source *source)
{
    ms_json *document = NULL;
    ms_report report = {0};
    ms_error ignored = {.status = MS_OK};
    ms_status status = ms_json_parse(source, &document, &ignored);
    if (status == MS_OK)
        status = ms_report_read(arena, ms_json_root(document), &report, &ignored);
    ms_json_free(document);
    return status == MS_OK && report.is_plan ? MS_ERR_CONFIG : status;
}

ms_status ms_baseline_look(ms_arena *arena, const ms_budget *budget, const char *text,
                           size_t length, ms_baseline_state *state, ms_error *err)
{
    ms_json_source there;
    char *found = NULL;
    ms_error ignored = {.status = MS_OK};
    ms_status status = ms_json_read(NULL, budget->baseline, &there, &found, &ignored);
    state->is_there = status == MS_OK || access(budget->baseline, F_OK) == 0;
    state->is_current =
        status == MS_OK && there.length == length && memcmp(there.text, text, length) == 0;
    if (status == MS_OK && !state->is_current)
        status = read_report(arena, &there);
    free(found);
    if (status == MS_ERR_NOMEM)
        return ms_fail(err, status, "no memory for a baseline");
    if (status != MS_OK && state->is_there)
        refuse(
            budget, &state->refusal,
            "%.160s is not a static report, so it was not replaced; name another file or remove it",
            budget->baseline);
    return MS_OK;
}

/* ---- all of them ---- */

typedef struct named {
    char *identity;
    uint32_t index;
} named;

static int by_identity(const void *a, const void *b)
{
    const named *x = a, *y = b;
    int order = strcmp(x->identity, y->identity);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static void refuse_twins(const ms_budget *budgets, const named *names, uint32_t count,
                         ms_baseline_state *states)
{
    for (uint32_t i = 1; i < count; i++)
        if (strcmp(names[i].identity, names[i - 1].identity) == 0)
            refuse(&budgets[names[i].index], &states[names[i].index].refusal,
                   "the baselines of '%.80s' and '%.80s' are the same file, %.160s",
                   budgets[names[i - 1].index].name, budgets[names[i].index].name,
                   budgets[names[i].index].baseline);
}

static void refuse_inputs(const ms_budget *budgets, uint32_t count, ms_inputs *inputs,
                          ms_baseline_state *states)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *read = budgets[i].baseline ? ms_inputs_find(inputs, budgets[i].baseline) : NULL;
        if (read)
            refuse(&budgets[i], &states[i].refusal,
                   "this run reads %.120s (as %.120s), and the baseline would replace it",
                   budgets[i].baseline, read);
    }
}

ms_status ms_baselines_protect(const ms_budget *budgets, uint32_t count, ms_inputs *inputs,
                               ms_baseline_state *states, ms_error *err)
{
    uint32_t found = 0;
    named *names = calloc(count + 1, sizeof *names);
    bool done = names != NULL;
    for (uint32_t i = 0; i < count && done; i++)
        if (budgets[i].baseline) {
            names[found].index = i;
            names[found].identity = ms_file_identity(budgets[i].baseline);
            done = names[found].identity != NULL;
            found += done;
        }
    if (done) {
        refuse_inputs(budgets, count, inputs, states);
        qsort(names, found, sizeof *names, by_identity);
        refuse_twins(budgets, names, found, states);
    }
    for (uint32_t i = 0; i < found; i++)
        free(names[i].identity);
    free(names);
    return done ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "no memory for baselines");
}
