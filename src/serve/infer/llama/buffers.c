/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llama/buffers.h"

#include <string.h>

#include "serve/infer/llama/tensors.h"

enum { CELL_STEP = 256, STATE_BYTES = 4, LOGIT_BYTES = 4 };

/* ---- weights ---- */

/* Bytes by device, in the order of their indices; the host is apart. */
typedef struct sums {
    uint64_t device[MS_LLAMA_MAX_DEVICES], host, repacked;
    uint64_t tied, shared;    /* of a second place, within these */
    uint64_t stored, on_host; /* in the file: all, and what is first on the host */
    uint64_t first, last;     /* of the tensors of the host, in the file `file` */
    uint64_t mapped;          /* of the files before it */
    uint32_t file;
    bool has_host;
} sums;

/* Products of matrices for which the CPU's kernels (AVX2) have a layout of their own. */
static bool is_repacked(const ms_llama_run *r, const ms_llama_tensor *t)
{
    bool has_layout =
        t->type == MS_STORED_Q4_0 || t->type == MS_STORED_Q4_K || t->type == MS_STORED_MXFP4;
    bool is_product = t->layer >= 0 && !ms_llama_tensor_is(t, "attn_k_b.weight") &&
                      !ms_llama_tensor_is(t, "attn_v_b.weight");
    return !r->is_cuda && r->job->settings->llama.repack && has_layout && is_product &&
           t->rank >= 2;
}

static void close_file(sums *s)
{
    if (s->has_host)
        s->mapped += s->last - s->first;
    s->has_host = false;
}

static void add_to_host(const ms_llama_run *r, const ms_llama_tensor *t, sums *s)
{
    uint64_t bytes =
        ms_llama_alloc_bytes(t->type, t->shape[0], t->shape[1] * t->shape[2] * t->shape[3], false);
    if (is_repacked(r, t)) {
        s->repacked += bytes;
        return;
    }
    s->host += bytes;
    if (s->has_host && s->file != t->file)
        close_file(s);
    if (!s->has_host || t->begin < s->first)
        s->first = t->begin;
    if (!s->has_host || t->end > s->last)
        s->last = t->end;
    s->has_host = true;
    s->file = t->file;
}

static uint64_t device_bytes(const ms_llama_tensor *t)
{
    return ms_llama_alloc_bytes(t->type, t->shape[0], t->shape[1] * t->shape[2] * t->shape[3],
                                true);
}

static void add_at(const ms_llama_run *r, const ms_llama_tensor *t, int device, sums *s)
{
    if (device == MS_INFER_HOST)
        add_to_host(r, t, s);
    else
        s->device[device] += device_bytes(t);
}

static void add_stored(const ms_llama_tensor *t, int device, sums *s)
{
    s->stored += t->bytes;
    s->on_host += device == MS_INFER_HOST ? t->bytes : 0;
}

/* A tensor that every layer uses is wherever a layer is. */
static void add_shared(const ms_llama_run *r, const ms_llama_tensor *t, sums *s)
{
    bool is_there[MS_LLAMA_MAX_DEVICES + 1] = {false};
    add_stored(t, ms_llama_device_of(r, 0), s);
    for (uint64_t i = 0; i < r->model->n_layer; i++) {
        int device = ms_llama_device_of(r, i);
        if (!is_there[device + 1])
            add_at(r, t, device, s);
        if (!is_there[device + 1] && i > 0)
            s->shared += device_bytes(t);
        is_there[device + 1] = true;
    }
}

static void add_tensor(const ms_llama_run *r, const ms_llama_tensor *t, sums *s)
{
    if (t->layer == MS_LLAMA_SHARED) {
        add_shared(r, t, s);
        return;
    }
    add_stored(t, ms_llama_tensor_device(r, t), s);
    add_at(r, t, ms_llama_tensor_device(r, t), s);
    int head = ms_llama_device_of(r, r->model->n_layer);
    bool is_head_too = r->model->is_tied && strcmp(t->name, "token_embd.weight") == 0;
    if (is_head_too && head != MS_INFER_HOST) {
        s->device[head] += device_bytes(t);
        s->tied += device_bytes(t);
    }
}

/* Why a file of so many bytes takes others. */
static bool add_causes(const ms_llama_run *r, const sums *s, ms_infer_result *result)
{
    bool is_mapped = r->job->settings->llama.mmap;
    int64_t on_devices = 0;
    for (uint32_t i = 0; i < r->devices; i++)
        on_devices += (int64_t)s->device[i];
    int64_t padding = on_devices - (int64_t)(s->tied + s->shared + s->stored - s->on_host);
    int64_t on_host = (int64_t)(is_mapped ? s->mapped : s->host + s->repacked);
    const ms_stored_cause causes[] = {
        {"tied-copy",
         "the embedding table is on the host, and again on a device as the output head",
         (int64_t)s->tied},
        {"shared-copy", "tensors that all layers use are on every device that has layers",
         (int64_t)s->shared},
        {"repacked",
         "weights that the CPU's kernels rearrange are in memory beside the mapped file",
         is_mapped ? (int64_t)s->repacked : 0},
        {"padding", "devices pad tensors", padding},
        {is_mapped ? "mapped" : "padding",
         is_mapped ? "the file is mapped from the host's first tensor to its last"
                   : "the host pads tensors",
         on_host - (int64_t)s->on_host},
    };
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++)
        if (causes[i].bytes != 0 && !ms_vec_push(&result->causes, causes[i]))
            return false;
    return true;
}

ms_status ms_llama_weights_add(const ms_llama_run *r, ms_infer_result *result, ms_error *err)
{
    sums s = {.has_host = false};
    bool ok = true;
    for (uint32_t i = 0; i < r->model->tensors.count; i++)
        add_tensor(r, &r->model->tensors.items[i], &s);
    close_file(&s);
    for (uint32_t i = 0; i < r->devices; i++)
        ok = ok && ms_infer_add_exact(result, MS_INFER_WEIGHTS, ms_llama_device_name((int)i),
                                      (int)i, s.device[i]);
    bool is_mapped = r->job->settings->llama.mmap;
    const char *host = is_mapped ? "CPU_Mapped" : r->is_cuda ? "CUDA_Host" : "CPU";
    ok = ok && ms_infer_add_exact(result, MS_INFER_WEIGHTS, host, MS_INFER_HOST,
                                  is_mapped ? s.mapped : s.host);
    ok =
        ok && ms_infer_add_exact(result, MS_INFER_WEIGHTS, "CPU_REPACK", MS_INFER_HOST, s.repacked);
    ok = ok && add_causes(r, &s, result);
    return ok ? MS_OK : ms_infer_no_memory(err);
}

/* ---- caches ---- */

bool ms_llama_has_layers(const ms_llama_model *model, bool slides)
{
    for (uint64_t i = 0; i < model->n_layer; i++)
        if (model->layers[i].kv_heads > 0 && model->layers[i].slides == slides)
            return true;
    return false;
}

uint64_t ms_llama_cells(const ms_llama_run *r, bool slides)
{
    const ms_llama_settings *s = &r->job->settings->llama;
    if (!slides || s->swa_full)
        return r->n_ctx_seq;
    uint64_t cells = r->model->window * (s->kv_unified ? r->n_seq : 1) + r->n_ubatch;
    return ms_llama_pad(cells < r->n_ctx_seq ? cells : r->n_ctx_seq, CELL_STEP);
}

static uint64_t layer_bytes(const ms_llama_run *r, uint64_t layer, uint64_t cells, bool on_device)
{
    const ms_llama_layer *l = &r->model->layers[layer];
    uint64_t heads = r->model->latent > 0 ? 1 : l->kv_heads, rows = cells * r->streams;
    uint64_t bytes = ms_llama_alloc_bytes(r->type_k, heads * r->model->head_k, rows, on_device);
    if (r->model->latent == 0)
        bytes += ms_llama_alloc_bytes(r->type_v, heads * r->model->head_v, rows, on_device);
    return bytes;
}

static ms_status check_rows(const ms_llama_run *r, ms_error *err)
{
    for (uint64_t i = 0; i < r->model->n_layer; i++) {
        const ms_llama_layer *l = &r->model->layers[i];
        uint64_t heads = r->model->latent > 0 ? 1 : l->kv_heads;
        if (heads * r->model->head_k % ms_stored_type_of(r->type_k)->block_elements != 0 ||
            heads * r->model->head_v % ms_stored_type_of(r->type_v)->block_elements != 0)
            return ms_fail(
                err, MS_ERR_CONFIG,
                "cache-type-k, cache-type-v: the values of a cell do not fill whole blocks");
    }
    return MS_OK;
}

/* One buffer for each place; the host comes first. */
static bool add_cache(const ms_llama_run *r, bool slides, ms_infer_result *result)
{
    bool ok = true;
    for (int device = MS_INFER_HOST; device < (int)r->devices; device++) {
        ms_infer_buffer b = {.part = MS_INFER_CACHE,
                             .place = ms_llama_device_name(device),
                             .device = device,
                             .phases = MS_INFER_IN(MS_INFER_LOAD) | MS_INFER_IN(MS_INFER_PREFILL) |
                                       MS_INFER_IN(MS_INFER_DECODE),
                             .cells = ms_llama_cells(r, slides)};
        for (uint64_t i = 0; i < r->model->n_layer; i++) {
            const ms_llama_layer *l = &r->model->layers[i];
            if (l->kv_heads == 0 || l->slides != slides || ms_llama_cache_device(r, i) != device)
                continue;
            b.bytes += layer_bytes(r, i, b.cells, device != MS_INFER_HOST);
            b.layers++;
        }
        b.low = b.high = b.bytes;
        ok = ok && ms_infer_add(result, b);
    }
    return ok;
}

static bool add_states(const ms_llama_run *r, ms_infer_result *result)
{
    const ms_llama_model *m = r->model;
    uint64_t convolution = m->arch == MS_LLAMA_MAMBA2
                               ? (m->conv_width - 1) * (m->inner + 2 * m->groups * m->state)
                               : (m->conv_width - 1) * m->n_embd;
    uint64_t inner = m->arch == MS_LLAMA_MAMBA2 ? m->state * m->inner : 0;
    bool ok = true;
    for (int device = MS_INFER_HOST; device < (int)r->devices; device++) {
        uint64_t bytes = 0;
        for (uint64_t i = 0; i < m->n_layer; i++)
            if (ms_llama_is_recurrent(m, i) && ms_llama_cache_device(r, i) == device)
                bytes += ms_llama_alloc_bytes(MS_STORED_F32, convolution, r->n_seq, device >= 0) +
                         ms_llama_alloc_bytes(MS_STORED_F32, inner, r->n_seq, device >= 0);
        ok = ok && ms_infer_add_exact(result, MS_INFER_STATE, ms_llama_device_name(device), device,
                                      bytes);
    }
    return ok;
}

ms_status ms_llama_caches_add(const ms_llama_run *r, ms_infer_result *result, ms_error *err)
{
    ms_status status = check_rows(r, err);
    bool has_states = false, ok = true;
    if (status != MS_OK)
        return status;
    for (uint64_t i = 0; i < r->model->n_layer; i++)
        has_states = has_states || ms_llama_is_recurrent(r->model, i);
    if (has_states && r->model->conv_width == 0)
        return ms_fail(err, MS_ERR_CONFIG, "the model's recurrent layers have no width");
    for (int slides = 0; slides < 2; slides++)
        if (ms_llama_has_layers(r->model, slides != 0))
            ok = ok && add_cache(r, slides != 0, result);
    ok = ok && (!has_states || add_states(r, result));
    return ok ? MS_OK : ms_infer_no_memory(err);
}

/* ---- outputs ---- */

ms_status ms_llama_output_add(const ms_llama_run *r, ms_infer_result *result, ms_error *err)
{
    uint64_t width =
        r->model->n_vocab + (r->job->settings->llama.embeddings ? r->model->n_embd : 0);
    /* Pinned where the head is on a device. */
    bool is_pinned = ms_llama_device_of(r, r->model->n_layer) != MS_INFER_HOST;
    return ms_infer_add_exact(result, MS_INFER_OUTPUT, is_pinned ? "CUDA_Host" : "CPU",
                              MS_INFER_HOST, LOGIT_BYTES * width * r->n_seq)
               ? MS_OK
               : ms_infer_no_memory(err);
}
