/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "infer/infer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/load/load.h"
#include "config/model/input.h"
#include "config/model/load_model.h"
#include "json/value.h"
#include "model/families.h"
#include "weights/gguf_files.h"

/* ---- reading ---- */

static ms_status open_device(ms_arena *arena, const ms_infer_settings *s, ms_infer_input *in,
                             ms_error *err)
{
    char budget[32];
    ms_run_config run;
    const ms_run_setting settings[] = {{"device", s->device}, {"budget", budget}};
    size_t count = s->budget > 0 ? 2 : 1;
    snprintf(budget, sizeof budget, "%" PRIu64 "B", s->budget);
    ms_status status = ms_config_load_device(arena, settings, count, "inference", &run, NULL, err);
    if (status != MS_OK)
        return status;
    in->device = run.device;
    in->budget_bytes = s->budget;
    if (in->budget_bytes == 0 && !run.device->is_cpu)
        in->budget_bytes = ms_device_usable_bytes(run.device);
    return MS_OK;
}

static ms_status open_config(const char *model, ms_infer_input *in, ms_error *err)
{
    ms_input config = {.text = NULL};
    ms_status status = ms_input_open(in->arena, model, MS_WANTED_MODEL, &config, err);
    if (status != MS_OK)
        return status;
    in->text = config.text;
    status = ms_json_parse(&config.source, &in->document, err);
    if (status == MS_OK)
        status = ms_model_load_value(in->arena, ms_families(), ms_json_root(in->document),
                                     config.name, &in->config, NULL, err);
    in->name = in->config.name;
    return status;
}

/* "model.gguf" of a path. */
static const char *last_part(ms_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    return ms_arena_strdup(arena, slash ? slash + 1 : path);
}

ms_status ms_infer_open(ms_arena *arena, const char *model, const ms_infer_settings *settings,
                        ms_infer_input *in, ms_error *err)
{
    *in = (ms_infer_input){.arena = arena};
    ms_status status = open_device(arena, settings, in, err);
    if (status != MS_OK)
        return status;
    size_t length = strlen(model);
    bool is_named_so = length > 5 && strcmp(model + length - 5, ".gguf") == 0;
    if (is_named_so || ms_gguf_files_is_one(model)) {
        in->name = last_part(arena, model);
        status = in->name ? ms_gguf_files_open(arena, model, &in->gguf, &in->splits, err)
                          : ms_infer_no_memory(err);
    } else {
        status = open_config(model, in, err);
    }
    if (status != MS_OK)
        ms_infer_close(in);
    return status;
}

void ms_infer_close(ms_infer_input *in)
{
    ms_json_free(in->document);
    free(in->text);
    ms_gguf_free(&in->gguf);
    *in = (ms_infer_input){.arena = in->arena};
}

/* ---- one run of the engine ---- */

static ms_status add_context(const ms_device *d, ms_infer_result *result, ms_error *err)
{
    bool ok = true;
    for (uint32_t i = 0; i < result->devices && !d->is_cpu; i++)
        ok = ok && ms_infer_add(result, (ms_infer_buffer){.part = MS_INFER_CONTEXT,
                                                          .place = "driver",
                                                          .device = (int)i,
                                                          .phases = ~0u,
                                                          .low = d->context_low_bytes,
                                                          .bytes = d->context_expected_bytes,
                                                          .high = d->context_high_bytes});
    return ok ? MS_OK : ms_infer_no_memory(err);
}

static ms_status run_engine(const ms_infer_input *in, const ms_infer_settings *settings,
                            const ms_infer_engine *engine, ms_infer_result *result, ms_error *err)
{
    bool is_file = in->document == NULL;
    ms_infer_job job = {.settings = settings,
                        .device = in->device,
                        .budget_bytes = in->budget_bytes,
                        .name = in->name,
                        .gguf = is_file ? &in->gguf : NULL,
                        .splits = in->splits,
                        .config = is_file ? NULL : &in->config,
                        .arena = in->arena};
    if (!is_file)
        job.file = ms_json_root(in->document);
    *result = (ms_infer_result){.devices = 0};
    ms_status status = engine->run(&job, result, err);
    if (status == MS_OK)
        status = add_context(in->device, result, err);
    if (status != MS_OK)
        ms_infer_result_free(result);
    return status;
}

/* ---- what fits ---- */

/* `is_safe`: with the highest figures, not the expected ones. *full: a device that is too small. */
static bool fits(const ms_infer_input *in, const ms_infer_result *result, bool is_safe, int *full)
{
    int first = in->device->is_cpu ? MS_INFER_HOST : 0;
    int count = in->device->is_cpu ? 0 : (int)result->devices;
    for (int device = first; in->budget_bytes > 0 && device < count; device++) {
        const ms_infer_bytes total = ms_infer_total(result, device, ms_infer_peak(result, device));
        if ((is_safe ? total.high : total.expected) > in->budget_bytes) {
            *full = device;
            return false;
        }
    }
    return true;
}

static ms_status try_value(const ms_infer_input *in, const ms_infer_settings *settings,
                           const ms_infer_engine *engine, const ms_infer_lever *lever,
                           uint64_t value, bool *does_fit, ms_error *err)
{
    ms_infer_settings changed = *settings;
    ms_infer_result result;
    char text[24];
    int full;
    snprintf(text, sizeof text, "%" PRIu64, value);
    ms_status status = ms_infer_settings_set(&changed, in->arena, lever->field, text, err);
    if (status == MS_OK)
        status = run_engine(in, &changed, engine, &result, err);
    if (status != MS_OK)
        return status;
    *does_fit = fits(in, &result, true, &full);
    ms_infer_result_free(&result);
    return MS_OK;
}

/* The largest value from `low`, which fits, to `high`, in steps; `low` where no other fits. */
static ms_status search(const ms_infer_input *in, const ms_infer_settings *settings,
                        const ms_infer_engine *engine, const ms_infer_lever *lever, uint64_t low,
                        uint64_t high, uint64_t *value, ms_error *err)
{
    ms_status status = MS_OK;
    while (low < high && status == MS_OK) {
        uint64_t steps = (high - low + lever->step) / lever->step;
        uint64_t middle = low + (steps + 1) / 2 * lever->step;
        bool does_fit = false;
        if (middle > high)
            break;
        status = try_value(in, settings, engine, lever, middle, &does_fit, err);
        if (does_fit)
            low = middle;
        else
            high = middle - lever->step;
    }
    *value = low;
    return status;
}

static ms_status find_less(const ms_infer_input *in, const ms_infer_settings *settings,
                           ms_infer_answer *a, ms_error *err)
{
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < a->result.levers.count && status == MS_OK; i++) {
        const ms_infer_lever *lever = &a->result.levers.items[i];
        bool does_fit = false;
        if (lever->value <= lever->least)
            continue;
        status = try_value(in, settings, a->engine, lever, lever->least, &does_fit, err);
        if (status != MS_OK || !does_fit)
            continue;
        a->lever = lever->field;
        return search(in, settings, a->engine, lever, lever->least, lever->value - 1,
                      &a->lever_value, err);
    }
    return status;
}

/* The last lever is the one of which more is of use. Nothing is said where the run fits only just.
 */
static ms_status find_more(const ms_infer_input *in, const ms_infer_settings *settings,
                           ms_infer_answer *a, ms_error *err)
{
    int full;
    if (a->result.levers.count == 0 || in->budget_bytes == 0 || !fits(in, &a->result, true, &full))
        return MS_OK;
    const ms_infer_lever *lever = &a->result.levers.items[a->result.levers.count - 1];
    if (lever->value >= lever->most)
        return MS_OK;
    uint64_t low = lever->value - lever->value % lever->step;
    a->lever = lever->field;
    return search(in, settings, a->engine, lever, low > lever->least ? low : lever->least,
                  lever->most, &a->lever_value, err);
}

ms_status ms_infer_run(const ms_infer_input *in, const ms_infer_settings *settings,
                       ms_infer_answer *a, ms_error *err)
{
    *a = (ms_infer_answer){.input_bytes = in->document ? 0 : in->gguf.file_bytes};
    ms_status status = ms_infer_engine_find(settings->engine, &a->engine, err);
    if (status == MS_OK)
        status = ms_infer_settings_check(settings, a->engine->name, a->engine->scope, err);
    if (status == MS_OK)
        status = run_engine(in, settings, a->engine, &a->result, err);
    if (status != MS_OK)
        return status;
    a->fits = fits(in, &a->result, false, &a->full);
    status = a->fits ? find_more(in, settings, a, err) : find_less(in, settings, a, err);
    if (status != MS_OK)
        ms_infer_answer_free(a);
    return status;
}

void ms_infer_answer_free(ms_infer_answer *a)
{
    ms_infer_result_free(&a->result);
}
