/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llama/sizes.h"

#include <inttypes.h>
#include <string.h>

#include "base/locale.h"
#include "base/text/pattern.h"

enum { CELL_STEP = 256, CUDA_ROW = 512 };

static ms_status cache_type(const char *field, const char *name, ms_stored_id *type, ms_error *err)
{
    static const ms_stored_id known[] = {MS_STORED_F32,  MS_STORED_F16,  MS_STORED_BF16,
                                         MS_STORED_Q8_0, MS_STORED_Q4_0, MS_STORED_Q4_1,
                                         MS_STORED_Q5_0, MS_STORED_Q5_1, MS_STORED_IQ4_NL};
    *type = ms_stored_type_named(name);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i] == *type)
            return MS_OK;
    return ms_fail(err, MS_ERR_USAGE,
                   "%s: found '%.40s', expected f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1 or "
                   "iq4_nl",
                   field, name);
}

static ms_status set_types(ms_llama_run *r, ms_error *err)
{
    const ms_llama_settings *s = &r->job->settings->llama;
    ms_status status = cache_type("cache-type-k", s->type_k, &r->type_k, err);
    if (status == MS_OK)
        status = cache_type("cache-type-v", s->type_v, &r->type_v, err);
    if (status != MS_OK)
        return status;
    r->flash = s->flash_attention != MS_LLAMA_FLASH_OFF;
    r->turns_values = !r->flash;
    if (!r->flash && ms_stored_type_of(r->type_v)->is_quantized)
        return ms_fail(err, MS_ERR_CONFIG,
                       "cache-type-v: llama.cpp refuses quantised values without flash attention");
    if (r->model->latent > 0 && r->type_k != r->type_v)
        return ms_fail(err, MS_ERR_CONFIG,
                       "cache-type-v: with multi-head latent attention it must equal cache-type-k");
    return MS_OK;
}

/* The order of the steps is llama.cpp's: the batch is limited before the context is rounded. */
static ms_status set_context(ms_llama_run *r, ms_error *err)
{
    const ms_infer_settings *s = r->job->settings;
    const ms_llama_settings *l = &s->llama;
    if (s->concurrency > MS_LLAMA_MOST_SEQUENCES)
        return ms_fail(err, MS_ERR_LIMIT, "concurrency: llama.cpp takes up to %d sequences",
                       MS_LLAMA_MOST_SEQUENCES);
    r->n_seq = s->concurrency;
    r->n_ctx = l->ctx_size ? l->ctx_size : s->context * s->concurrency;
    r->n_batch = r->n_ctx < l->batch ? r->n_ctx : l->batch;
    r->n_ubatch = r->n_batch < l->ubatch ? r->n_batch : l->ubatch;
    r->n_ctx = ms_llama_pad(r->n_ctx, CELL_STEP);
    r->n_ctx_seq = r->n_ctx;
    if (!l->kv_unified) {
        r->n_ctx_seq = ms_llama_pad(r->n_ctx / r->n_seq, CELL_STEP);
        r->n_ctx = r->n_ctx_seq * r->n_seq;
    }
    if (r->n_ctx > (uint64_t)1 << 30)
        return ms_fail(err, MS_ERR_LIMIT,
                       "context: %" PRIu64 " cells are more than llama.cpp can count", r->n_ctx);
    r->streams = l->kv_unified ? 1 : r->n_seq;
    r->outputs = l->outputs ? l->outputs : r->n_batch;
    return MS_OK;
}

/* "3/1" or "3,1": shares that are cumulated; without them all devices have the same memory. */
static ms_status set_split(ms_llama_run *r, ms_error *err)
{
    const char *at = r->job->settings->llama.tensor_split;
    float sum = 0; /* as llama.cpp adds and divides them */
    for (uint32_t i = 0; i < r->devices; i++) {
        double share = at ? 0 : 1;
        if (at && *at) {
            char *end = NULL;
            share = ms_number_read(at, &end);
            bool is_good = end != at && share >= 0 && share < 1e15 &&
                           (*end == '\0' || *end == '/' || *end == ',');
            if (!is_good)
                return ms_fail(err, MS_ERR_USAGE,
                               "tensor-split: found '%.40s', expected shares such as 3/1", at);
            at = *end ? end + 1 : end;
        }
        sum += (float)share;
        r->split_ends[i] = sum;
    }
    if (sum <= 0 || (at && *at))
        return ms_fail(err, MS_ERR_USAGE,
                       "tensor-split: expected a share for each of %" PRIu32
                       " devices, one above 0",
                       r->devices);
    for (uint32_t i = 0; i < r->devices; i++)
        r->split_ends[i] /= sum;
    return MS_OK;
}

static ms_status set_devices(ms_llama_run *r, ms_error *err)
{
    const ms_infer_settings *s = r->job->settings;
    uint64_t most = r->model->n_layer + 1, layers = most;
    if (ms_infer_settings_has(s, "gpu-layers"))
        layers = s->gpu_layers < most ? s->gpu_layers : most;
    r->devices = s->llama.split_mode == MS_LLAMA_SPLIT_NONE ? 1 : (uint32_t)s->gpus;
    r->first_device_layer = r->is_cuda ? most - layers : most;
    return set_split(r, err);
}

/* ---- tensors that are placed one by one ---- */

static bool find_place(const char *name, size_t length, const ms_llama_run *r, int *device)
{
    *device = MS_INFER_HOST;
    if (length == 3 && strncmp(name, "CPU", 3) == 0)
        return true;
    for (uint32_t i = 0; i < r->devices && r->is_cuda; i++)
        if (strlen(ms_llama_device_name((int)i)) == length &&
            strncmp(name, ms_llama_device_name((int)i), length) == 0) {
            *device = (int)i;
            return true;
        }
    return false;
}

/* Whether "|" is outside all parentheses and brackets. */
static bool is_alternation(const char *pattern)
{
    int depth = 0;
    for (const char *at = pattern; *at; at++) {
        if (*at == '\\' && at[1])
            at++;
        else if (*at == '|' && depth <= 0)
            return true;
        else
            depth += *at == '(' || *at == '[' ? 1 : *at == ')' || *at == ']' ? -1 : 0;
    }
    return false;
}

/* A text that is in whatever matches: how the expression begins; NULL: none is known. There may be
 * a rule for each layer, and many tensors. */
static const char *literal_of(ms_arena *arena, const char *pattern)
{
    char *out = ms_arena_array(arena, char, strlen(pattern) + 1);
    size_t length = 0;
    for (const char *at = pattern; out && *at; at++) {
        bool is_escape = at[0] == '\\' && at[1] != '\0' && strchr(".-[](){}", at[1]);
        const char *after = at + 1 + is_escape;
        if ((strchr("\\.[](){}*+?|^$", *at) && !is_escape) || (*after && strchr("*+?{", *after)))
            break;
        out[length++] = is_escape ? at[1] : *at;
        at += is_escape;
    }
    if (!out || length == 0 || is_alternation(pattern))
        return NULL;
    out[length] = '\0';
    return out;
}

/* The first rule that matches decides. */
static void place_matching(ms_llama_run *r, ms_pattern *pattern, const char *part, int device,
                           uint64_t *steps)
{
    for (uint32_t i = 0; i < r->model->tensors.count; i++) {
        const char *name = r->model->tensors.items[i].name;
        if (r->places[i] == MS_LLAMA_BY_LAYER && (!part || strstr(name, part)) &&
            ms_pattern_is_in(pattern, name, steps))
            r->places[i] = (int8_t)device;
    }
}

static ms_status apply_rule(const char *rule, size_t length, ms_llama_run *r, uint64_t *steps,
                            ms_error *err)
{
    const char *sign = memchr(rule, '=', length);
    ms_pattern *pattern;
    ms_error reason = {.status = MS_OK};
    int device;
    if (!sign || sign == rule ||
        !find_place(sign + 1, length - (size_t)(sign - rule) - 1, r, &device))
        return ms_fail(err, MS_ERR_USAGE,
                       "override-tensor: found '%.*s', expected PATTERN=CPU or PATTERN=CUDA0",
                       (int)(length < 80 ? length : 80), rule);
    const char *text = ms_arena_printf(r->job->arena, "%.*s", (int)(sign - rule), rule);
    if (!text)
        return ms_infer_no_memory(err);
    if (ms_pattern_new_ecmascript(text, &pattern, &reason) != MS_OK)
        return ms_fail(err, reason.status == MS_ERR_NOMEM ? MS_ERR_NOMEM : MS_ERR_USAGE,
                       "override-tensor: %s", reason.text);
    place_matching(r, pattern, literal_of(r->job->arena, text), device, steps);
    ms_pattern_free(pattern);
    return *steps > 0 ? MS_OK
                      : ms_fail(err, MS_ERR_LIMIT,
                                "override-tensor: matching takes more than %d steps; give shorter "
                                "or fewer patterns",
                                (int)MS_PATTERN_MOST_STEPS);
}

static ms_status set_places(ms_llama_run *r, ms_error *err)
{
    const char *at = r->job->settings->llama.override_tensor;
    uint64_t steps = MS_PATTERN_MOST_STEPS;
    ms_status status = MS_OK;
    if (!at || !*at)
        return MS_OK;
    r->places = ms_arena_array(r->job->arena, int8_t, r->model->tensors.count + 1);
    if (!r->places)
        return ms_infer_no_memory(err);
    memset(r->places, MS_LLAMA_BY_LAYER, r->model->tensors.count);
    while (status == MS_OK && *at) {
        size_t length = strcspn(at, ",");
        status = apply_rule(at, length, r, &steps, err);
        at += length + (at[length] == ',');
    }
    return status;
}

ms_status ms_llama_run_resolve(const ms_infer_job *job, const ms_llama_model *model,
                               ms_llama_run *run, ms_error *err)
{
    *run = (ms_llama_run){.job = job, .model = model, .is_cuda = !job->device->is_cpu};
    ms_status status = set_types(run, err);
    if (status == MS_OK)
        status = set_context(run, err);
    if (status == MS_OK)
        status = set_devices(run, err);
    return status == MS_OK ? set_places(run, err) : status;
}

int ms_llama_device_of(const ms_llama_run *run, uint64_t layer)
{
    uint64_t layers = run->model->n_layer + 1 - run->first_device_layer;
    if (layer < run->first_device_layer)
        return MS_INFER_HOST;
    float at = (float)(layer - run->first_device_layer) / (float)layers;
    for (uint32_t i = 0; i + 1 < run->devices; i++)
        if (at < run->split_ends[i])
            return (int)i;
    return (int)run->devices - 1;
}

int ms_llama_cache_device(const ms_llama_run *run, uint64_t layer)
{
    return run->job->settings->llama.kv_offload ? ms_llama_device_of(run, layer) : MS_INFER_HOST;
}

int ms_llama_tensor_device(const ms_llama_run *run, const ms_llama_tensor *t)
{
    int8_t place = run->places ? run->places[t - run->model->tensors.items] : MS_LLAMA_BY_LAYER;
    if (place != MS_LLAMA_BY_LAYER)
        return place;
    return t->layer < 0 ? MS_INFER_HOST : ms_llama_device_of(run, (uint64_t)t->layer);
}

const char *ms_llama_device_name(int device)
{
    static const char *const names[MS_LLAMA_MAX_DEVICES] = {
        "CUDA0", "CUDA1", "CUDA2",  "CUDA3",  "CUDA4",  "CUDA5",  "CUDA6",  "CUDA7",
        "CUDA8", "CUDA9", "CUDA10", "CUDA11", "CUDA12", "CUDA13", "CUDA14", "CUDA15"};
    return device < 0 ? "CPU" : names[device];
}

uint64_t ms_llama_alloc_bytes(ms_stored_id type, uint64_t width, uint64_t rows, bool on_device)
{
    uint64_t row = ms_stored_row_bytes(type, width).bytes, bytes = row * rows;
    if (on_device && ms_stored_type_of(type)->is_quantized && width % CUDA_ROW != 0)
        bytes += ms_stored_row_bytes(type, CUDA_ROW - width % CUDA_ROW).bytes;
    return ms_llama_pad(bytes, on_device ? MS_LLAMA_CUDA_ALIGN : MS_LLAMA_HOST_ALIGN);
}
