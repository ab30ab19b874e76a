/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/speed/llama_work.h"

#include <string.h>

#include "serve/infer/llama/sizes.h"

static const char on_host[] =
    "weights or caches are on the host, whose bandwidth is not known (--host-bandwidth)";
static const char by_host[] = "the bandwidth of the host's memory is not known (--host-bandwidth)";

/* Without its bandwidth nothing is known of what is there. Who multiplies the weights of a prompt
 * depends on its length. */
static void note_host(ms_infer_work *work)
{
    if (!(work->host.bytes_per_s > 0))
        work->reason = on_host;
    work->no_prefill = "weights or caches are on the host, whose arithmetic is not known";
}

/* ---- weights ---- */

static void add(ms_work_weights *to, const ms_llama_tensor *t, double share)
{
    double count = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        count *= (double)t->shape[i];
    to->count += count * share;
    to->bytes += (double)t->bytes * share;
}

/* The head is a copy of the table where it is tied. */
static bool is_on_host(const ms_llama_run *r, const ms_llama_tensor *t, bool is_table)
{
    return (is_table ? ms_llama_device_of(r, r->model->n_layer) : ms_llama_tensor_device(r, t)) ==
           MS_INFER_HOST;
}

static void add_tensor(const ms_llama_run *r, const ms_llama_tensor *t, ms_infer_work *work)
{
    bool is_table = strcmp(t->name, "token_embd.weight") == 0;
    if (t->rank < 2 || strcmp(t->name, "position_embd.weight") == 0 ||
        (is_table && !r->model->is_tied))
        return;
    const bool is_expert = work->experts > 0 && t->rank > 2 && strstr(t->name, "_exps.");
    const double share = is_expert ? 1 / (double)work->experts : 1;
    if (is_table || strcmp(t->name, "output.weight") == 0)
        add(&work->head, t, 1);
    else
        add(is_expert ? &work->expert : &work->layers, t, share);
    if (is_on_host(r, t, is_table)) {
        note_host(work);
        *(is_expert ? &work->host.expert_bytes : &work->host.bytes) += (double)t->bytes * share;
    }
}

/* ---- arithmetic ---- */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* Products with quantised weights run on whole numbers of 8 bits, those in fp16 may add up in fp16,
 * at half that rate (on GeForce twice that of the table), those in fp32 may run in TF32. */
static double rate_of(const ms_device *d, bool is_quantized, bool is_fp32)
{
    double half = larger(larger(d->fp16_flops, d->bf16_flops), d->int8_ops / 2);
    if (!(d->int8_ops > 0))
        return 0;
    return is_quantized ? larger(half, d->int8_ops)
           : is_fp32    ? larger(half, larger(d->fp32_flops, d->tf32_flops))
                        : half;
}

static void set_rate(const ms_llama_run *r, ms_infer_work *work)
{
    bool is_quantized = false, is_fp32 = false;
    for (uint32_t i = 0; i < r->model->tensors.count; i++) {
        const ms_llama_tensor *t = &r->model->tensors.items[i];
        bool is_product = t->rank >= 2 && strcmp(t->name, "token_embd.weight") != 0;
        is_quantized = is_quantized || (is_product && ms_stored_type_of(t->type)->is_quantized);
        is_fp32 = is_fp32 || (is_product && t->type == MS_STORED_F32);
    }
    work->type = is_quantized ? "int8" : is_fp32 ? "tf32" : "fp16";
    work->flops = rate_of(r->job->device, is_quantized, is_fp32);
}

/* ---- attention ---- */

static double row_bytes(ms_stored_id type, uint64_t width)
{
    const ms_stored_type *t = ms_stored_type_of(type);
    return (double)width * t->block_bytes / t->block_elements;
}

static void add_attention(const ms_llama_run *r, ms_infer_work *work)
{
    const ms_llama_model *m = r->model;
    work->spans[MS_WORK_WINDOWED].window = m->window;
    for (uint64_t i = 0; i < m->n_layer; i++) {
        const ms_llama_layer *l = &m->layers[i];
        ms_work_span *span =
            &work->spans[l->slides && m->window > 0 ? MS_WORK_WINDOWED : MS_WORK_FULL];
        uint64_t key = m->latent > 0 ? m->plain_k + m->n_rot : m->head_k;
        if (l->kv_heads == 0)
            continue;
        span->pair_flops += 2 * (double)l->heads * (double)(key + m->head_v);
        const double bytes = m->latent > 0 ? row_bytes(r->type_k, m->latent + m->n_rot)
                                           : row_bytes(r->type_k, l->kv_heads * m->head_k) +
                                                 row_bytes(r->type_v, l->kv_heads * m->head_v);
        span->token_bytes += bytes;
        if (ms_llama_cache_device(r, i) == MS_INFER_HOST) {
            note_host(work);
            work->host.token_bytes[span - work->spans] += bytes;
        }
    }
}

/* ---- all ---- */

ms_status ms_llama_work(const ms_infer_job *job, const ms_infer_result *result, ms_infer_work *work,
                        ms_error *err)
{
    ms_llama_model model;
    ms_llama_run run;
    ms_status status = ms_llama_model_load(job, &model, err);
    if (status != MS_OK)
        return status;
    status = ms_llama_run_resolve(job, &model, &run, err);
    work->host.bytes_per_s = (double)job->settings->llama.host_bytes_per_s;
    work->experts = model.experts;
    work->used = model.experts_used;
    work->prefill_devices = result->devices;
    work->decode_devices = 1; /* layers come one after the other */
    for (uint32_t i = 0; i < model.tensors.count && status == MS_OK; i++)
        add_tensor(&run, &model.tensors.items[i], work);
    if (status == MS_OK) {
        set_rate(&run, work);
        add_attention(&run, work);
    }
    if (!run.is_cuda && work->reason)
        work->reason = by_host;
    ms_llama_model_free(&model);
    return status;
}
