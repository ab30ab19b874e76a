/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llama/model.h"

#include <string.h>

#include "serve/infer/llama/convert.h"
#include "serve/infer/llama/metadata.h"
#include "serve/infer/llama/quant_mix.h"
#include "serve/infer/llama/tensors.h"

bool ms_llama_is_recurrent(const ms_llama_model *model, uint64_t layer)
{
    return model->layers[layer].kv_heads == 0;
}

static ms_status take_tensors(const ms_gguf *gguf, ms_llama_model *m, ms_error *err)
{
    bool has_table = false;
    m->is_tied = true;
    for (uint32_t i = 0; i < gguf->tensors.count; i++) {
        const ms_gguf_tensor *from = &gguf->tensors.items[i];
        ms_llama_tensor t = {.name = from->name,
                             .type = from->type,
                             .rank = from->rank,
                             .file = from->file,
                             .bytes = from->bytes,
                             .begin = from->begin,
                             .end = from->begin + from->bytes,
                             .layer = ms_llama_tensor_layer(from->name, m->n_layer)};
        memcpy(t.shape, from->shape, sizeof t.shape);
        if (t.layer > (int64_t)m->n_layer)
            return ms_fail(err, MS_ERR_CONFIG,
                           "the tensor %.60s is of a layer that the model lacks", t.name);
        if (strcmp(t.name, "token_embd.weight") == 0) {
            has_table = true;
            m->n_vocab = t.shape[1];
        }
        m->is_tied = m->is_tied && strcmp(t.name, "output.weight") != 0;
        m->has_rope_factors = m->has_rope_factors || strcmp(t.name, "rope_freqs.weight") == 0;
        if (!ms_vec_push(&m->tensors, t))
            return ms_infer_no_memory(err);
    }
    return has_table ? MS_OK
                     : ms_fail(err, MS_ERR_CONFIG, "the file has no tensor token_embd.weight");
}

static ms_status make(const ms_infer_job *job, ms_llama_mix mix, ms_llama_model *m, ms_error *err)
{
    ms_status status = ms_llama_convert(job, m, err);
    if (status == MS_OK)
        status = ms_llama_mix_apply(mix, m, err);
    return status == MS_OK ? ms_llama_tensors_place(m, err) : status;
}

static uint64_t bytes_of(const ms_llama_model *m)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < m->tensors.count; i++)
        bytes += m->tensors.items[i].bytes;
    return bytes;
}

/* What cannot be made is taken for the largest, so that its refusal is seen. */
ms_status ms_llama_quants(const ms_infer_job *job, const char **names, size_t *count, ms_error *err)
{
    uint64_t sizes[MS_LLAMA_MIXES];
    ms_error reason = {.status = MS_OK};
    *count = 0;
    while (!job->config && *count < MS_LLAMA_MIXES) { /* of a file, where all are refused */
        names[*count] = ms_llama_mix_names[*count];
        (*count)++;
    }
    for (size_t mix = 0; mix < MS_LLAMA_MIXES && job->config; mix++) {
        ms_llama_model m = {0};
        ms_status status = make(job, (ms_llama_mix)mix, &m, &reason);
        uint64_t bytes = status == MS_OK ? bytes_of(&m) : UINT64_MAX;
        bool is_without = mix == MS_LLAMA_MIX_MXFP4 && status == MS_ERR_USAGE;
        ms_llama_model_free(&m);
        if (status == MS_ERR_NOMEM)
            return ms_infer_no_memory(err);
        size_t at = *count;
        for (; !is_without && at > 0 && sizes[at - 1] < bytes; at--) {
            sizes[at] = sizes[at - 1];
            names[at] = names[at - 1];
        }
        if (is_without)
            continue;
        sizes[at] = bytes;
        names[at] = ms_llama_mix_names[mix];
        (*count)++;
    }
    return MS_OK;
}

static ms_status load(const ms_infer_job *job, ms_llama_model *m, ms_error *err)
{
    ms_llama_mix mix = MS_LLAMA_MIX_F16;
    if (job->gguf) {
        if (job->settings->quant && ms_infer_settings_has(job->settings, "quant"))
            return ms_fail(err, MS_ERR_USAGE,
                           "quant: the types of the weights are those of the GGUF file");
        ms_status status = ms_llama_metadata_read(job->gguf, job->arena, m, err);
        return status == MS_OK ? take_tensors(job->gguf, m, err) : status;
    }
    const char *quant = job->settings->quant;
    ms_status status = MS_OK;
    if (quant)
        status = ms_llama_mix_find(quant, &mix, err);
    else
        mix = ms_llama_mix_of_config(job->config);
    return status == MS_OK ? make(job, mix, m, err) : status;
}

/* Bounds within which no product of sizes exceeds 64 bits, whatever a file says. */
static ms_status check(const ms_llama_model *m, ms_error *err)
{
    enum { MOST_HEADS = 4096, MOST_WIDTH = 1 << 16, MOST_EXPERTS_USED = 64 };
    const uint64_t most_tokens = (uint64_t)1 << 28;
    bool is_good = m->n_vocab > 0 && m->n_vocab <= most_tokens && m->experts_used <= m->experts &&
                   m->experts_used <= MOST_EXPERTS_USED &&
                   (m->expert_groups <= 1 || m->experts % m->expert_groups == 0) &&
                   m->groups_used <= m->expert_groups && m->expert_groups <= m->experts;
    if (m->arch == MS_LLAMA_MAMBA2)
        is_good = is_good && m->scan_heads > 0 && m->groups > 0 && m->inner % m->scan_heads == 0 &&
                  m->inner % m->groups == 0;
    for (uint64_t i = 0; i < m->n_layer; i++) {
        const ms_llama_layer *l = &m->layers[i];
        bool attends = l->kv_heads > 0;
        is_good = is_good && l->heads <= MOST_HEADS && l->kv_heads <= l->heads &&
                  (!attends || (m->head_k > 0 && m->head_v > 0)) &&
                  (attends || m->conv_width > 0) && (!l->is_sparse || m->experts_used > 0);
    }
    if (!is_good || m->head_k > MOST_WIDTH || m->head_v > MOST_WIDTH ||
        m->conv_width > MOST_WIDTH || m->inner > MOST_WIDTH || m->state > MOST_WIDTH ||
        m->groups > MOST_WIDTH)
        return ms_fail(err, MS_ERR_CONFIG,
                       "the model's numbers of heads, experts or tokens, or their widths, are not "
                       "possible together");
    return MS_OK;
}

ms_status ms_llama_model_load(const ms_infer_job *job, ms_llama_model *model, ms_error *err)
{
    *model = (ms_llama_model){0};
    ms_status status = load(job, model, err);
    if (status == MS_OK)
        status = check(model, err);
    if (status != MS_OK)
        ms_llama_model_free(model);
    return status;
}

void ms_llama_model_free(ms_llama_model *model)
{
    ms_vec_free(&model->tensors);
}
