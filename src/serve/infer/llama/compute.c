/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llama/compute.h"

#include "serve/infer/ggml/graph_alloc.h"
#include "serve/infer/llama/attention.h"
#include "serve/infer/llama/plan.h"

enum { CELL_STEP = 256 };

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

ms_status ms_llama_flash_resolve(ms_llama_run *r, ms_error *err)
{
    ms_llama_plan p;
    const ms_llama_batch batch = {
        .tokens = r->n_seq, .outputs = r->n_seq, .is_loaded = true, .is_fused = true};
    /* Attention follows the writing of its cache, on the layer's device. */
    bool is_certain = r->first_device_layer == 0 && r->job->settings->llama.kv_offload &&
                      !r->places && ms_llama_flash_has_kernel(r);
    bool is_asked = r->job->settings->llama.flash_attention == MS_LLAMA_FLASH_AUTO && r->is_cuda;
    if (!is_asked || is_certain || ms_stored_type_of(r->type_v)->is_quantized)
        return MS_OK;
    ms_status status = ms_llama_plan_make(r, &batch, &p, err);
    if (status != MS_OK)
        return status;
    for (uint32_t i = 0; i < p.schedule.steps.count; i++) {
        const ms_sched_step *s = &p.schedule.steps.items[i];
        const ms_graph_tensor *t =
            s->tensor == MS_GRAPH_NONE ? NULL : &p.g.tensors.items[s->tensor];
        uint32_t wanted = !t || t->place < 0 ? r->devices : (uint32_t)t->place;
        if (t && t->op == MS_GRAPH_FLASH && s->device != wanted)
            r->flash = false;
    }
    ms_llama_plan_free(&p);
    return MS_OK;
}

static ms_status sizes_of(const ms_llama_run *r, const ms_llama_batch *batch, uint64_t *bytes,
                          ms_error *err)
{
    ms_llama_plan p;
    ms_status status = ms_llama_plan_make(r, batch, &p, err);
    if (status != MS_OK)
        return status;
    status = ms_graph_alloc(&p.g, &p.schedule, bytes, err);
    ms_llama_plan_free(&p);
    return status;
}

/* Without loading, as for its --fit, llama.cpp forgets where it wished operators to run: norms in
 * the layers of several devices, attention on the host. And where CUDA routes experts in one
 * kernel, what that reads stays longer, unless GGML_CUDA_DISABLE_FUSION is set. */
static bool loading_matters(const ms_llama_run *r)
{
    bool is_attention_apart = !r->job->settings->llama.kv_offload && !r->flash;
    bool has_borders = r->devices > 1 && r->first_device_layer == 0;
    return r->is_cuda && (is_attention_apart || has_borders || r->model->experts > 0);
}

/* The graph that is reserved: as many tokens as are computed together, and full caches. */
static ms_llama_batch reserved_batch(const ms_llama_run *r)
{
    uint64_t tokens = least(r->n_ctx, r->n_ubatch);
    return (ms_llama_batch){.tokens = ms_llama_pad(tokens, r->n_seq),
                            .outputs = least(tokens, r->outputs)};
}

ms_status ms_llama_compute_estimate(const ms_llama_run *r, uint64_t *bytes, ms_error *err)
{
    ms_llama_batch batch = reserved_batch(r);
    batch.is_fused = true;
    return sizes_of(r, &batch, bytes, err);
}

ms_status ms_llama_compute_add(const ms_llama_run *r, ms_infer_result *result, ms_error *err)
{
    static const char note[] =
        "compute: the figure is what llama.cpp measures without loading the model and without "
        "fused expert routing; a usual run needs the other end of the range";
    enum { MOST = MS_LLAMA_MAX_DEVICES + 1 };
    uint64_t bytes[MOST] = {0}, loaded[MOST] = {0};
    ms_llama_batch batch = reserved_batch(r);
    uint32_t devices = r->is_cuda ? r->devices : 0;
    bool ok = true, differs = false;
    ms_status status = sizes_of(r, &batch, bytes, err);
    batch.is_loaded = batch.is_fused = true;
    if (status == MS_OK && loading_matters(r))
        status = sizes_of(r, &batch, loaded, err);
    for (uint32_t i = 0; i <= devices && status == MS_OK; i++) {
        uint64_t other = loading_matters(r) ? loaded[i] : bytes[i];
        const char *host = r->is_cuda ? "CUDA_Host" : "CPU";
        ms_infer_buffer b = {.part = MS_INFER_COMPUTE,
                             .place = i < devices ? ms_llama_device_name((int)i) : host,
                             .device = i < devices ? (int)i : MS_INFER_HOST,
                             .phases = MS_INFER_IN(MS_INFER_LOAD) | MS_INFER_IN(MS_INFER_PREFILL) |
                                       MS_INFER_IN(MS_INFER_DECODE),
                             .low = least(bytes[i], other),
                             .bytes = bytes[i],
                             .high = bytes[i] > other ? bytes[i] : other};
        differs = differs || bytes[i] != other;
        ok = ok && ms_infer_add(result, b);
    }
    if (differs)
        ok = ok && ms_vec_push(&result->notes, note);
    return status == MS_OK && !ok ? ms_infer_no_memory(err) : status;
}

static bool add_pool(const ms_llama_plan *p, int device, const ms_pool_hardware *hardware,
                     ms_infer_result *result)
{
    const ms_pool_need n = ms_pool_of(&p->g, &p->schedule, (uint32_t)device, hardware);
    ms_infer_buffer b = {.part = MS_INFER_POOL,
                         .place = "pool",
                         .device = device,
                         .phases = MS_INFER_IN(MS_INFER_PREFILL) | MS_INFER_IN(MS_INFER_DECODE),
                         .low = n.low,
                         .bytes = n.bytes,
                         .high = n.high};
    bool ok = ms_infer_add(result, b);
    b.part = MS_INFER_WORKSPACE;
    b.place = "cuBLAS";
    b.low = n.may_lack_workspace ? 0 : n.workspace;
    b.bytes = b.high = n.workspace;
    return ok && ms_infer_add(result, b);
}

/* A prompt of one sequence, of which the last token has logits. */
ms_status ms_llama_pool_add(const ms_llama_run *r, ms_infer_result *result, ms_error *err)
{
    ms_llama_plan p;
    ms_llama_run alone = *r;
    const ms_device *d = r->job->device;
    const ms_pool_hardware hardware = {d->compute_capability, d->multiprocessors};
    uint64_t prompt = least(r->job->settings->prompt, r->n_ctx_seq);
    const ms_llama_batch batch = {.tokens = least(prompt, r->n_ubatch),
                                  .outputs = 1,
                                  .filled = ms_llama_pad(prompt, CELL_STEP)};
    if (!r->is_cuda)
        return MS_OK;
    alone.n_seq = alone.streams = 1;
    ms_status status = ms_llama_plan_make(&alone, &batch, &p, err);
    if (status != MS_OK)
        return status;
    bool ok = true;
    for (int device = 0; device < (int)r->devices; device++)
        ok = ok && add_pool(&p, device, &hardware, result);
    ms_llama_plan_free(&p);
    return ok ? MS_OK : ms_infer_no_memory(err);
}
