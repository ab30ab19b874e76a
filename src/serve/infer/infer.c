/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/infer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/config/load/load.h"
#include "input/config/model/family_facts.h"
#include "input/config/model/input.h"
#include "input/config/model/load_model.h"
#include "input/config/model/model_config.h"
#include "input/config/model/model_keys.h"
#include "base/json/value.h"
#include "model/families.h"
#include "serve/infer/largest.h"
#include "serve/infer/llama/model.h"
#include "serve/infer/llamacpp/fit.h"
#include "serve/infer/trial.h"
#include "input/weights/gguf.h"

/* ---- reading ---- */

static uint64_t distance(const ms_device *device, uint64_t budget)
{
    uint64_t bytes = ms_device_usable_bytes(device);
    return bytes > budget ? bytes - budget : budget - bytes;
}

/* A budget in place of a device is that of the nearest one, whose memory decides what engines take
 * by default. Of those that all engines run on: NVIDIA's with compute capability 8.0 or more. */
static ms_status take_nearest(ms_infer_input *in, ms_infer_settings *s, ms_error *err)
{
    const ms_device *devices, *nearest = NULL;
    uint32_t count = 0;
    in->place_note = NULL;
    if (s->budget == 0 || ms_infer_settings_has(s, "device"))
        return MS_OK;
    ms_status status = ms_devices_load(in->arena, &devices, &count, err);
    for (uint32_t i = 0; i < count && status == MS_OK; i++) {
        const ms_device *d = &devices[i];
        bool is_taken = d->compute_capability > 0 && !ms_device_before_ampere(d);
        if (is_taken && (!nearest || distance(d, s->budget) < distance(nearest, s->budget)))
            nearest = d;
    }
    if (!nearest)
        return status;
    s->device = nearest->name;
    in->place_note = ms_arena_printf(
        in->arena,
        "budget: no device is given, so the prediction is for %s, whose memory is closest, because "
        "the engines' defaults depend on the device; --device names another",
        nearest->name);
    return in->place_note ? MS_OK : ms_infer_no_memory(err);
}

ms_status ms_infer_place(ms_infer_input *in, ms_infer_settings *s, ms_error *err)
{
    char budget[32];
    ms_run_config run;
    ms_status status = take_nearest(in, s, err);
    if (status != MS_OK)
        return status;
    const ms_run_setting settings[] = {{"device", s->device}, {"budget", budget}};
    size_t count = s->budget > 0 ? 2 : 1;
    snprintf(budget, sizeof budget, "%" PRIu64 "B", s->budget);
    status = ms_config_load_device(in->arena, settings, count, "inference", &run, NULL, err);
    if (status != MS_OK)
        return status;
    in->device = run.device;
    s->device = run.device->name;
    in->budget_bytes = s->budget;
    if (in->budget_bytes > 0)
        return MS_OK;
    if (s->llama.free_memory) {
        status = ms_llama_free_most(s, run.device->is_cpu, &in->budget_bytes, err);
        in->budget_bytes += run.device->is_cpu ? 0 : run.device->context_expected_bytes;
    } else if (!run.device->is_cpu) {
        in->budget_bytes = ms_device_usable_bytes(run.device);
    }
    return status;
}

/* The class's type where the config names none: that of the first weights, as in transformers. */
static ms_status open_stored(const char *path, ms_infer_input *in, ms_error *err)
{
    ms_status status = ms_inventory_make(in->arena, in->config, &in->inventory, err);
    if (status == MS_OK)
        status = ms_stored_read(in->arena, path, in->config, ms_json_root(in->document),
                                &in->inventory, &in->stored, err);
    if (status == MS_OK && !in->config->has_dtype)
        in->config->has_dtype = ms_stored_dtype(in->stored.first_type, &in->config->dtype);
    return status;
}

static ms_status open_config(const char *model, ms_infer_input *in, ms_error *err)
{
    ms_input config = {.text = NULL};
    ms_status status = ms_input_open(in->arena, model, MS_WANTED_MODEL, &config, err);
    if (status != MS_OK)
        return status;
    in->text = config.text;
    in->name_note = config.note;
    in->config = ms_arena_array(in->arena, ms_model_config, 1);
    if (!in->config)
        return ms_infer_no_memory(err);
    status = ms_json_parse(&config.source, &in->document, err);
    if (status == MS_OK)
        status = ms_model_load_value(in->arena, in->families, ms_json_root(in->document),
                                     config.name, in->config, &in->config_notes, err);
    in->name = in->config->name;
    return status;
}

/* A file of weights, or its index: the config is beside it. */
static ms_status open_beside(const char *path, ms_infer_input *in, ms_error *err)
{
    const char *slash = strrchr(path, '/');
    const char *folder =
        slash ? ms_arena_printf(in->arena, "%.*s", (int)(slash - path + 1), path) : "./";
    const char *config = folder ? ms_arena_printf(in->arena, "%sconfig.json", folder) : NULL;
    if (!config)
        return ms_infer_no_memory(err);
    if (!ms_is_regular_file(config))
        return ms_fail(err, MS_ERR_IO,
                       "'%.200s': weight files need their model's config.json beside them", path);
    ms_status status = open_config(config, in, err);
    return status == MS_OK ? open_stored(path, in, err) : status;
}

static ms_status open_model(const char *model, ms_infer_input *in, ms_error *err)
{
    if (ms_stored_weights_is_named(model))
        return open_beside(model, in, err);
    ms_status status = open_config(model, in, err);
    if (status != MS_OK || ms_is_preset(model) || !ms_stored_weights_is_in(model))
        return status;
    return open_stored(model, in, err);
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
    *in = (ms_infer_input){.arena = arena, .families = ms_families()};
    ms_status status = MS_OK;
    if (settings->families)
        in->families = in->families->in(arena, in->families, settings->families, err);
    if (in->families && settings->family)
        in->families = in->families->with(arena, in->families, settings->family, err);
    if (!in->families)
        return err && err->status != MS_OK ? err->status : ms_infer_no_memory(err);
    size_t length = strlen(model);
    bool is_named_so = length > 5 && strcmp(model + length - 5, ".gguf") == 0;
    if (is_named_so || ms_gguf_files_is_one(ms_arena_inputs(arena), model)) {
        in->name = last_part(arena, model);
        status = in->name ? ms_gguf_files_open(arena, model, &in->gguf, &in->splits, err)
                          : ms_infer_no_memory(err);
        if (status == MS_OK)
            status = ms_stored_of_gguf(&in->gguf, in->splits, &in->stored, err);
    } else {
        status = open_model(model, in, err);
    }
    if (status != MS_OK)
        ms_infer_close(in);
    return status;
}

void ms_infer_close(ms_infer_input *in)
{
    ms_json_free(in->document);
    free(in->text);
    ms_inventory_free(&in->inventory);
    ms_stored_free(&in->stored);
    ms_gguf_free(&in->gguf);
    *in = (ms_infer_input){.arena = in->arena};
}

/* ---- the answer ---- */

static ms_status search(const ms_infer_input *in, ms_infer_answer *a, ms_error *err)
{
    if (a->fit.what)
        return MS_OK;
    return a->fits ? ms_infer_find_more(in, a, err) : ms_infer_find_less(in, a, err);
}

/* Of the places that the engine uses. */
static uint64_t loaded_bytes(const ms_infer_result *r)
{
    uint64_t sum = 0;
    for (int device = MS_INFER_HOST; device < (int)r->devices; device++)
        sum +=
            ms_infer_part_total(r, device, MS_INFER_WEIGHTS, MS_INFER_IN(MS_INFER_LOAD)).expected;
    return sum;
}

static ms_status explain(const ms_infer_input *in, ms_infer_answer *a, ms_error *err)
{
    const char *type = a->result.weights_type ? a->result.weights_type : a->settings.quant;
    a->loaded_bytes = loaded_bytes(&a->result);
    const char *loading = a->engine->loading, *packed = a->result.packed_type;
    if (packed && !(in->config && ms_is_packed(&in->config->quantization)))
        loading = ms_arena_printf(in->arena, "weights of linear layers are packed as %s", packed);
    if (packed && !loading)
        return ms_infer_no_memory(err);
    bool ok = in->stored.checkpoint.files == 0;
    if (!ok && !in->document)
        ok = ms_stored_explain_own(&in->stored, &a->result.causes, a->loaded_bytes, &a->causes);
    else if (!ok)
        ok = ms_stored_explain(in->arena, &in->stored, type ? type : "f16", loading,
                               a->loaded_bytes, &a->causes);
    return ok ? MS_OK : ms_infer_no_memory(err);
}

/* The tokens that the model was trained with; 0: not known. */
static uint64_t positions_of(const ms_infer_input *in)
{
    return in->document ? in->config->max_positions : ms_llama_metadata_positions(&in->gguf);
}

/* A context that is not given is no longer than the positions that the model has learned. A
 * ctx-size of 0 is, as in llama.cpp, all that the model was trained with. */
static void resolve_context(const ms_infer_input *in, ms_infer_settings *s)
{
    uint64_t learned = in->document ? ms_model_learned_positions(in->config) : UINT64_MAX;
    if (!ms_infer_settings_has(s, "context") && s->context > learned)
        s->context = learned;
    uint64_t all = positions_of(in);
    if (!ms_infer_settings_has(s, "ctx-size") || s->llama.ctx_size > 0 || all == 0)
        return;
    if (s->concurrency == 1)
        s->context = all;
    else
        s->llama.ctx_size = all;
}

/* What llama.cpp does with a context that is not given. */
static ms_status tell_context(const ms_infer_input *in, ms_infer_answer *a, ms_error *err)
{
    const ms_infer_settings *s = &a->settings;
    uint64_t all = positions_of(in);
    bool is_given = ms_infer_settings_has(s, "context") || ms_infer_settings_has(s, "ctx-size") ||
                    a->choice.program || a->fit.what;
    if (is_given || !(a->engine->scope & MS_INFER_OF_LLAMA_CPP) || all <= s->context)
        return MS_OK;
    a->result.limit = ms_arena_printf(
        in->arena,
        "the context is %" PRIu64
        " tokens because no --context is given; without -c llama.cpp takes the model's %" PRIu64
        ", or what --engine-fit predicts",
        s->context, all);
    return a->result.limit ? MS_OK : ms_infer_no_memory(err);
}

/* What was taken for what, what the config has besides, and where it is to run. */
static ms_status add_notes(const ms_infer_input *in, ms_infer_result *result, ms_error *err)
{
    bool has_room = !in->name_note || ms_vec_push(&result->notes, in->name_note);
    for (uint32_t i = 0; i < in->config_notes.count && has_room; i++)
        has_room = ms_vec_push(&result->notes, in->config_notes.texts[i]);
    if (has_room && in->place_note)
        has_room = ms_vec_push(&result->notes, in->place_note);
    return has_room ? MS_OK : ms_infer_no_memory(err);
}

static ms_status check_prompt(const ms_infer_settings *s, ms_error *err)
{
    bool are_given = ms_infer_settings_has(s, "context") && ms_infer_settings_has(s, "prompt");
    if (!are_given || s->prompt <= s->context)
        return MS_OK;
    return ms_fail(err, MS_ERR_USAGE,
                   "prompt: %" PRIu64 " tokens are more than the context, %" PRIu64, s->prompt,
                   s->context);
}

ms_status ms_infer_run(const ms_infer_input *in, const ms_infer_settings *settings,
                       ms_infer_answer *a, ms_error *err)
{
    *a = (ms_infer_answer){.settings = *settings};
    ms_status status = ms_infer_engine_find(settings->engine, &a->engine, err);
    if (status == MS_OK)
        status = ms_infer_settings_check(settings, a->engine->name, a->engine->scope, err);
    if (status == MS_OK)
        status = check_prompt(settings, err);
    resolve_context(in, &a->settings);
    if (status == MS_OK && in->document)
        status = ms_infer_engine_check(a->engine, in->config, err);
    if (status == MS_OK)
        status = ms_infer_choose(in, a->engine, &a->settings, &a->choice, err);
    if (status == MS_OK && settings->fit != MS_INFER_FIT_NONE)
        status = ms_infer_find_largest(in, a, err);
    if (status == MS_OK)
        status = ms_infer_engine_run(in, &a->settings, a->engine, in->arena, &a->result, err);
    if (status == MS_OK)
        status = tell_context(in, a, err);
    if (status == MS_OK)
        status = add_notes(in, &a->result, err);
    if (status != MS_OK)
        return status;
    if (a->choice.refusal)
        a->result.refusal = a->choice.refusal;
    a->context = a->result.context ? a->result.context : a->settings.context;
    a->fits = ms_infer_result_fits(in, &a->result, false, &a->full);
    status = search(in, a, err);
    if (status == MS_OK && !in->is_of_table)
        status = ms_infer_find_other(in, a, err);
    if (status == MS_OK)
        status = explain(in, a, err);
    if (status == MS_OK)
        status = ms_infer_speed_of(in, &a->settings, a->engine, &a->result, &a->speed, err);
    if (status != MS_OK)
        ms_infer_answer_free(a);
    return status;
}

int ms_infer_decisive(const ms_infer_input *in, const ms_infer_answer *a)
{
    const ms_infer_result *r = &a->result;
    int most = in->device->is_cpu || r->devices == 0 ? MS_INFER_HOST : 0;
    if (!a->fits)
        return a->full;
    for (int device = 0; device < (int)r->devices; device++)
        if (ms_infer_total(r, device, ms_infer_peak(r, device)).expected >
            ms_infer_total(r, most, ms_infer_peak(r, most)).expected)
            most = device;
    return most;
}

ms_fit_reason ms_infer_reason(const ms_infer_input *in, const ms_infer_answer *a)
{
    int full;
    if (in->budget_bytes == 0)
        return MS_FIT_NO_BUDGET;
    return !a->fits                                             ? MS_FIT_OVER_BUDGET
           : !ms_infer_result_fits(in, &a->result, true, &full) ? MS_FIT_UPPER_END
                                                                : MS_FIT_WITHIN_BUDGET;
}

void ms_infer_answer_free(ms_infer_answer *a)
{
    ms_infer_result_free(&a->result);
    ms_vec_free(&a->causes);
}
