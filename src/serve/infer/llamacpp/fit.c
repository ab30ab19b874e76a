/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llamacpp/fit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/locale.h"
#include "base/text/size.h"
#include "serve/infer/llamacpp/share.h"

/* ---- search ---- */

/* The steps of llama.cpp's own --fit, for a memory that is free. */

enum { CELL_STEP = 256 };

static uint32_t search_places_of(const ms_llama_search *s)
{
    return s->devices ? s->devices : 1;
}

/* ---- the context ---- */

static ms_status set_context(ms_llama_search *s, uint64_t cells, ms_error *err)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, cells);
    return ms_infer_settings_set(&s->settings, s->job->arena, "ctx-size", text, err);
}

static uint64_t streams_of(const ms_llama_search *s)
{
    return s->settings.llama.kv_unified ? 1 : s->settings.concurrency;
}

static uint64_t cells_of(const ms_llama_search *s, uint64_t tokens)
{
    uint64_t cells = tokens * streams_of(s);
    return cells < UINT32_MAX ? cells : UINT32_MAX;
}

typedef struct sums {
    int64_t free, margin, used, weights;
} sums;

static sums sums_of(const ms_llama_search *s, const ms_llama_estimate *estimates)
{
    sums sum = {0};
    for (uint32_t i = 0; i < search_places_of(s); i++) {
        sum.free += s->free[i];
        sum.margin += s->margin[i];
        sum.used += estimates[i].all;
        sum.weights += estimates[i].weights;
    }
    return sum;
}

/* Of several devices some memory is left by layers that do not fit: half a layer each, and one
 * more; of a mixture a third of it. */
static int64_t waste_of(const ms_llama_search *s, const sums *full)
{
    uint64_t layers = s->model->n_layer;
    if (ms_infer_settings_has(&s->settings, "gpu-layers") && s->settings.gpu_layers < layers)
        layers = s->settings.gpu_layers;
    if (s->devices < 2 || layers == 0)
        return 0;
    return (int64_t)(s->devices + 1) * (full->weights / (int64_t)layers) /
           (s->model->experts == 0 ? 2 : 6);
}

/* *is_enough: the context alone makes room. */
static ms_status reduce_context(ms_llama_search *s, const sums *full, bool *is_enough,
                                ms_error *err)
{
    ms_llama_estimate estimates[MS_LLAMA_MAX_DEVICES];
    uint64_t most = cells_of(s, s->model->positions),
             least = cells_of(s, s->settings.llama.fit_ctx);
    uint64_t step = CELL_STEP * streams_of(s), cells = least;
    if (!s->is_context_free || most <= least)
        return MS_OK;
    int64_t room = full->free - full->margin - waste_of(s, full);
    ms_status status = set_context(s, least, err);
    if (status == MS_OK)
        status = ms_llama_share_estimate(s, &s->settings, estimates, err);
    if (status != MS_OK)
        return status;
    sums at_least = sums_of(s, estimates);
    s->is_changed = true;
    if (room <= at_least.used || full->used <= at_least.used)
        return MS_OK;
    cells +=
        (uint64_t)((int64_t)(most - least) * (room - at_least.used) / (full->used - at_least.used));
    cells -= cells % step;
    *is_enough = s->devices <= 1;
    return set_context(s, cells > least ? cells : least, err);
}

/* ---- all ---- */

/* What stops it from sharing layers anew, where the context was not enough. */
static const char *refusal_of(const ms_llama_search *s)
{
    const ms_infer_settings *given = s->job->settings;
    if (s->devices == 0)
        return "a shorter context alone does not fit the model into the host's memory";
    if (ms_infer_settings_has(given, "gpu-layers"))
        return "gpu-layers is given";
    if (s->devices > 1 && ms_infer_settings_has(given, "tensor-split"))
        return "tensor-split is given";
    return ms_infer_settings_has(given, "override-tensor") ? "override-tensor is given" : NULL;
}

static bool leaves_margins(const ms_llama_search *s, const ms_llama_estimate *estimates)
{
    for (uint32_t i = 0; i < search_places_of(s); i++)
        if (s->free[i] - estimates[i].all < s->margin[i])
            return false;
    return true;
}

/* Sets ctx-size, and with a layout gpu-layers, tensor-split and override-tensor. */
static ms_status llama_search_run(ms_llama_search *s, ms_error *err)
{
    ms_llama_estimate estimates[MS_LLAMA_MAX_DEVICES];
    bool is_enough = false;
    ms_status status = MS_OK;
    if (s->is_context_free)
        status = set_context(s, cells_of(s, s->model->positions), err);
    if (status == MS_OK)
        status = ms_llama_share_estimate(s, &s->settings, estimates, err);
    if (status != MS_OK || leaves_margins(s, estimates))
        return status;
    const sums full = sums_of(s, estimates);
    if (full.free - full.margin < full.used)
        status = reduce_context(s, &full, &is_enough, err);
    s->failure = is_enough ? NULL : refusal_of(s);
    if (status != MS_OK || is_enough || s->failure)
        return status;
    s->has_layout = s->is_changed = true;
    status = ms_llama_share_layers(s, err);
    bool ok = status != MS_OK || s->failure ||
              ms_llama_layout_set(&s->layout, s->model->n_layer, s->job->arena, &s->settings);
    return ok ? status : ms_infer_no_memory(err);
}

/* ---- fit ---- */

enum { SERVER_SLOTS = 4 };

_Static_assert((int)MS_INFER_MOST_DEVICES == (int)MS_LLAMA_MAX_DEVICES,
               "a choice has a place for each device");

/* ---- what is given ---- */

static ms_status set_count(ms_infer_settings *s, ms_arena *arena, const char *field, uint64_t value,
                           ms_error *err)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return ms_infer_settings_set(s, arena, field, text, err);
}

/* llama-server has slots that share one cache, and logits for a token of each. */
static ms_status set_server(ms_infer_settings *s, ms_arena *arena, ms_error *err)
{
    bool has_slots = ms_infer_settings_has(s, "concurrency");
    ms_status status = has_slots ? MS_OK : set_count(s, arena, "concurrency", SERVER_SLOTS, err);
    if (status == MS_OK && !has_slots && !ms_infer_settings_has(s, "kv-unified"))
        status = ms_infer_settings_set(s, arena, "kv-unified", "yes", err);
    if (status == MS_OK && !ms_infer_settings_has(s, "outputs"))
        status = set_count(s, arena, "outputs",
                           s->concurrency < s->llama.batch ? s->concurrency : s->llama.batch, err);
    return status;
}

typedef struct list {
    const char *field, *text;
    ms_status (*read)(const char *word, int64_t *value, ms_error *err);
} list;

static ms_status read_size(const char *word, int64_t *value, ms_error *err)
{
    uint64_t bytes = 0;
    ms_status status = ms_size_parse(word, &bytes, err);
    *value = (int64_t)bytes;
    return status;
}

static ms_status read_mib(const char *word, int64_t *value, ms_error *err)
{
    enum { MOST_MIB = 1 << 30 };
    char *end = NULL;
    double number = ms_number_read(word, &end);
    bool is_whole = end != word && *end == '\0' && number >= 0 && number <= MOST_MIB &&
                    number == (double)(int64_t)number;
    *value = is_whole ? (int64_t)number << 20 : 0;
    return is_whole ? MS_OK : ms_fail(err, MS_ERR_USAGE, "'%.40s' is not a number of MiB", word);
}

/* Values for each place, separated by "/" or ","; one is for all. */
static ms_status read_list(const list *l, uint32_t places, int64_t *values, ms_error *err)
{
    uint32_t count = 0;
    for (const char *at = l->text; *at && count <= places;) {
        char word[40];
        ms_error reason = {.status = MS_OK};
        size_t length = strcspn(at, "/,");
        snprintf(word, sizeof word, "%.*s", (int)(length < 39 ? length : 39), at);
        at += length + (at[length] != '\0');
        int64_t value = 0;
        if (l->read(word, &value, &reason) != MS_OK)
            return ms_fail(err, MS_ERR_USAGE, "%s: %s", l->field, reason.text);
        if (count < places)
            values[count] = value;
        count++;
    }
    if (count != 1 && count != places)
        return ms_fail(err, MS_ERR_USAGE,
                       "%s: expected one value, or one for each of %" PRIu32 " devices", l->field,
                       places);
    for (uint32_t i = 1; i < places && count == 1; i++)
        values[i] = values[0];
    return MS_OK;
}

/* Those of the machine: with split-mode none, the first one is in use. */
static uint32_t places_of(const ms_infer_settings *settings, bool is_cpu)
{
    return is_cpu ? 1 : (uint32_t)settings->gpus;
}

static ms_status read_free(const ms_infer_settings *settings, bool is_cpu, int64_t *bytes,
                           ms_error *err)
{
    const list given = {"free-memory", settings->llama.free_memory, read_size};
    return read_list(&given, places_of(settings, is_cpu), bytes, err);
}

ms_status ms_llama_free_most(const ms_infer_settings *settings, bool is_cpu, uint64_t *bytes,
                             ms_error *err)
{
    int64_t each[MS_LLAMA_MAX_DEVICES] = {0};
    ms_status status = read_free(settings, is_cpu, each, err);
    *bytes = 0;
    for (uint32_t i = 0; i < places_of(settings, is_cpu); i++)
        *bytes = (uint64_t)each[i] > *bytes ? (uint64_t)each[i] : *bytes;
    return status;
}

/* Without tensor-split, llama.cpp shares layers by the memory that is free. */
static ms_status set_split(ms_llama_search *s, ms_error *err)
{
    const char *text = "";
    bool is_even = true;
    for (uint32_t i = 0; i < s->devices && text; i++) {
        is_even = is_even && s->free[i] == s->free[0];
        text = ms_arena_printf(s->job->arena, "%s%s%" PRId64, text, i ? "/" : "", s->free[i]);
    }
    if (is_even || ms_infer_settings_has(&s->settings, "tensor-split"))
        return MS_OK;
    return text ? ms_infer_settings_set(&s->settings, s->job->arena, "tensor-split", text, err)
                : ms_infer_no_memory(err);
}

/* ---- one search ---- */

static ms_status search(const ms_infer_job *job, const ms_llama_model *model, uint64_t free_bytes,
                        ms_llama_search *s, ms_error *err)
{
    const ms_infer_settings *given = job->settings;
    const list target = {"fit-target", given->llama.fit_target, read_mib};
    uint32_t places = places_of(given, job->device->is_cpu);
    bool is_alone = given->llama.split_mode == MS_LLAMA_SPLIT_NONE;
    *s = (ms_llama_search){.job = job, .model = model, .settings = *given};
    s->devices = job->device->is_cpu ? 0 : is_alone ? 1 : (uint32_t)given->gpus;
    s->is_context_free =
        !ms_infer_settings_has(given, "context") && !ms_infer_settings_has(given, "ctx-size");
    if (s->is_context_free && model->positions == 0)
        return ms_fail(err, MS_ERR_CONFIG, "engine-fit: the model states no context_length");
    ms_status status = MS_OK;
    if (given->llama.engine_fit == MS_LLAMA_ENGINE_FIT_SERVER)
        status = set_server(&s->settings, job->arena, err);
    if (status == MS_OK)
        status = read_list(&target, places, s->margin, err);
    for (uint32_t i = 0; i < places; i++)
        s->free[i] = (int64_t)free_bytes;
    if (status == MS_OK && given->llama.free_memory)
        status = read_free(given, job->device->is_cpu, s->free, err);
    if (status == MS_OK)
        status = set_split(s, err);
    return status == MS_OK ? llama_search_run(s, err) : status;
}

/* As the programs take them: "-c 4096 -ngl 25 -ts 12/13 -ot ..."; the context in cells. */
static const char *arguments_of(const ms_llama_search *s)
{
    const ms_infer_settings *to = &s->settings;
    ms_arena *arena = s->job->arena;
    bool has_cells = to->llama.ctx_size > 0;
    const char *text = has_cells ? ms_arena_printf(arena, "-c %" PRIu64, to->llama.ctx_size) : "";
    if (!s->has_layout || s->failure)
        return text;
    text = text ? ms_arena_printf(arena, "%s%s-ngl %" PRIu64, text, has_cells ? " " : "",
                                  to->gpu_layers)
                : NULL;
    if (text && s->devices > 1 && ms_llama_layout_layers(&s->layout) > 0)
        text = ms_arena_printf(arena, "%s -ts %s", text, to->llama.tensor_split);
    if (text && to->llama.override_tensor)
        text = ms_arena_printf(arena, "%s -ot \"%s\"", text, to->llama.override_tensor);
    return text;
}

/* Where its own estimate is above what is free, loading fails. */
static ms_status refuse(const ms_infer_job *job, ms_infer_choice *c, ms_error *err)
{
    char needed[MS_SIZE_TEXT_BYTES], there[MS_SIZE_TEXT_BYTES];
    for (uint32_t i = 0; i < c->devices && !c->refusal; i++)
        if (c->places[i].needed > c->places[i].free) {
            c->refusal = ms_arena_printf(job->arena, "%s of %s are needed, but %s are free",
                                         ms_size_format(c->places[i].needed, needed, sizeof needed),
                                         ms_llama_device_name((int)i),
                                         ms_size_format(c->places[i].free, there, sizeof there));
            if (!c->refusal)
                return ms_infer_no_memory(err);
        }
    return MS_OK;
}

/* What it would choose with another memory; *text NULL where it is the same. */
static ms_status choose_with(const ms_infer_job *job, const ms_llama_model *model, uint64_t bytes,
                             const char *same, const char **text, ms_error *err)
{
    ms_llama_search s;
    ms_status status = search(job, model, bytes, &s, err);
    const char *arguments = status == MS_OK ? arguments_of(&s) : NULL;
    *text = arguments && strcmp(arguments, same) != 0 ? arguments : NULL;
    return status == MS_OK && !arguments ? ms_infer_no_memory(err) : status;
}

static ms_status report(ms_llama_search *s, ms_infer_choice *c, ms_error *err)
{
    ms_llama_estimate estimates[MS_LLAMA_MAX_DEVICES];
    bool is_server = s->job->settings->llama.engine_fit == MS_LLAMA_ENGINE_FIT_SERVER;
    *c = (ms_infer_choice){.program = is_server ? "llama-server" : "llama-fit-params",
                           .arguments = arguments_of(s),
                           .failure = s->failure,
                           .is_changed = s->is_changed,
                           .devices = s->devices,
                           .trials = s->trials};
    if (s->has_layout && !s->failure)
        c->layers = ms_llama_layout_text(&s->layout, s->model->n_layer, s->job->arena);
    if (!c->arguments || (s->has_layout && !s->failure && !c->layers))
        return ms_infer_no_memory(err);
    ms_status status = ms_llama_share_estimate(s, &s->settings, estimates, err);
    for (uint32_t i = 0; i < (s->devices ? s->devices : 1) && status == MS_OK; i++)
        c->places[i] = (ms_infer_choice_place){.free = (uint64_t)s->free[i],
                                               .margin = (uint64_t)s->margin[i],
                                               .needed = (uint64_t)estimates[i].all};
    return status;
}

static ms_status choose(const ms_infer_job *job, const ms_llama_model *model,
                        ms_infer_settings *settings, ms_infer_choice *c, ms_error *err)
{
    ms_llama_search s;
    const ms_device *d = job->device;
    uint64_t context = d->is_cpu ? 0 : d->context_expected_bytes;
    uint64_t least = d->is_cpu ? 0 : d->context_low_bytes;
    uint64_t most = d->is_cpu ? 0 : d->context_high_bytes, budget = job->budget_bytes;
    bool is_given = job->settings->llama.free_memory != NULL;
    ms_status status = search(job, model, budget > context ? budget - context : 0, &s, err);
    if (status == MS_OK)
        status = report(&s, c, err);
    if (status == MS_OK && is_given)
        status = refuse(job, c, err);
    if (status == MS_OK && !is_given && least < context)
        status = choose_with(job, model, budget > least ? budget - least : 0, c->arguments,
                             &c->if_more, err);
    if (status == MS_OK && !is_given && most > context)
        status = choose_with(job, model, budget > most ? budget - most : 0, c->arguments,
                             &c->if_less, err);
    if (status == MS_OK)
        *settings = s.settings;
    return status;
}

ms_status ms_llama_choose(const ms_infer_job *job, ms_infer_settings *settings, ms_infer_choice *c,
                          ms_error *err)
{
    ms_llama_model model;
    const ms_infer_settings *given = job->settings;
    if (given->llama.engine_fit == MS_LLAMA_ENGINE_FIT_NONE)
        return MS_OK;
    if (given->fit != MS_INFER_FIT_NONE)
        return ms_fail(err, MS_ERR_USAGE,
                       "engine-fit: llama.cpp's own --fit already chooses what fit would search "
                       "for; leave out one of them");
    if (job->budget_bytes == 0 && !given->llama.free_memory)
        return ms_fail(err, MS_ERR_USAGE,
                       "engine-fit: the memory of %s is not known: give --budget or --free-memory",
                       job->device->name);
    ms_status status = ms_llama_model_load(job, &model, err);
    if (status != MS_OK)
        return status;
    status = choose(job, &model, settings, c, err);
    ms_llama_model_free(&model);
    return status;
}
