/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "infer/llama/compute.h"

#include "infer/llama/experts.h"
#include "infer/llama/graph_alloc.h"

/* What the architectures' graphs differ in. */
typedef struct shape {
    bool is_known;
    bool fused_qkv, qkv_bias, output_bias, norm_bias;
    bool head_norms;       /* of queries and keys */
    bool rotates;          /* rotary embeddings */
    bool scales_in;        /* embeddings */
    bool scales_q;         /* queries, after the rotary embedding */
    bool post_norms;       /* of attention and of the MLP */
    bool post_norm_is_pre; /* gpt-oss: the norm before the MLP has that name */
    bool caps;             /* scores and logits */
    ms_llama_mlp mlp;
    ms_llama_moe moe;
} shape;

/* clang-format off */
static const shape shapes[MS_LLAMA_ARCHS] = {
    [MS_LLAMA_LLAMA]    = {.is_known = true, .rotates = true, .moe = {.normalises = true}},
    [MS_LLAMA_QWEN2]    = {.is_known = true, .rotates = true, .qkv_bias = true},
    [MS_LLAMA_QWEN3]    = {.is_known = true, .rotates = true, .head_norms = true},
    [MS_LLAMA_QWEN3MOE] = {.is_known = true, .rotates = true, .head_norms = true, .moe = {.normalises = true}},
    [MS_LLAMA_GEMMA2]   = {.is_known = true, .rotates = true, .scales_in = true, .scales_q = true, .post_norms = true, .caps = true},
    [MS_LLAMA_GEMMA3]   = {.is_known = true, .rotates = true, .scales_in = true, .scales_q = true, .post_norms = true, .head_norms = true},
    [MS_LLAMA_GPT2]     = {.is_known = true, .fused_qkv = true, .qkv_bias = true, .output_bias = true, .norm_bias = true, .mlp = MS_LLAMA_UNGATED},
    [MS_LLAMA_PHI3]     = {.is_known = true, .rotates = true, .fused_qkv = true, .scales_q = true, .mlp = MS_LLAMA_GATED_IN_ONE},
    [MS_LLAMA_GPT_OSS]  = {.is_known = true, .rotates = true, .qkv_bias = true, .output_bias = true, .moe = {.softmax_of_chosen = true, .has_bias = true}},
};
/* clang-format on */

static ms_llama_qkv queries(ms_llama_build *b, const shape *s, uint32_t x, uint64_t layer)
{
    ms_llama_qkv of = ms_llama_qkv_of(b, x, layer, s->fused_qkv, s->qkv_bias);
    if (s->head_norms)
        of.q = ms_llama_norm(b, of.q, false);
    if (s->rotates)
        of.q = ms_llama_rope(b, of.q);
    if (s->head_norms)
        of.k = ms_llama_norm(b, of.k, false);
    if (s->rotates)
        of.k = ms_llama_rope(b, of.k);
    if (s->scales_q)
        of.q = ms_llama_unary(b, of.q);
    return of;
}

static uint32_t layer_of(ms_llama_build *b, const shape *s, uint32_t in, uint64_t layer)
{
    uint32_t t = ms_llama_norm(b, in, s->norm_bias);
    t = ms_llama_attend(b, queries(b, s, t, layer), layer, s->caps, s->output_bias);
    t = ms_llama_outputs(b, t, layer);
    in = ms_llama_outputs(b, in, layer);
    if (s->post_norms)
        t = ms_llama_norm(b, t, false);
    uint32_t middle = ms_llama_add(b, t, in);
    t = ms_llama_norm(b, middle, s->norm_bias);
    t = b->model->layers[layer].is_sparse ? ms_llama_experts(b, t, &s->moe)
                                          : ms_llama_dense(b, t, s->mlp);
    if (s->post_norms)
        t = ms_llama_norm(b, t, false);
    return ms_llama_add(b, t, middle);
}

static void build(ms_llama_build *b, const shape *s)
{
    ms_llama_inputs(b);
    uint32_t t = b->embeddings;
    if (s->scales_in)
        t = ms_llama_unary(b, t);
    if (b->model->arch == MS_LLAMA_GPT2) {
        uint32_t positions = ms_llama_gather(b, b->positions);
        t = ms_llama_add(b, t, positions);
    }
    for (uint64_t layer = 0; layer < b->model->n_layer; layer++)
        t = layer_of(b, s, t, layer);
    t = ms_llama_norm(b, t, s->norm_bias);
    uint32_t logits = ms_llama_linear(b, t, b->model->n_vocab, false);
    for (int i = 0; s->caps && i < 3; i++)
        logits = ms_llama_unary(b, logits);
    if (b->g->has_failed)
        return;
    b->g->tensors.items[t].is_output = b->g->tensors.items[logits].is_output = true;
    ms_graph_expand(b->g, logits);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool is_covered(const ms_llama_run *r)
{
    bool all_there = r->is_cuda && r->first_device_layer == 0 && r->devices == 1 &&
                     r->job->settings->llama.kv_offload;
    return shapes[r->model->arch].is_known && (all_there || !r->is_cuda);
}

/* Where the graph is not covered: the inputs, the last norm and the logits, which are there at
 * least; at most as much again and the scores of attention. */
static bool add_range(const ms_llama_run *r, uint64_t tokens, uint64_t outputs,
                      ms_infer_result *result)
{
    static const char note[] =
        "the compute buffer of this architecture or placement is a range: its graph is not covered";
    uint64_t low = 4 * outputs * (r->model->n_embd + r->model->n_vocab);
    uint64_t wide = r->model->n_ff > r->model->n_embd ? r->model->n_ff : r->model->n_embd;
    uint64_t more = 4 * tokens * 8 * wide;
    for (uint64_t i = 0; i < r->model->tensors.count && r->is_cuda; i++)
        more = r->model->tensors.items[i].layer >= 0 && r->model->tensors.items[i].bytes > more
                   ? r->model->tensors.items[i].bytes
                   : more;
    if (!r->flash)
        more += 4 * tokens * r->n_ctx_seq * r->model->layers[0].heads;
    bool ok = ms_vec_push(&result->notes, note);
    int first = r->is_cuda ? 0 : MS_INFER_HOST, end = r->is_cuda ? (int)r->devices : 0;
    for (int device = first; device < end; device++)
        ok = ok && ms_infer_add(result, (ms_infer_buffer){.part = MS_INFER_COMPUTE,
                                                          .place = ms_llama_device_name(device),
                                                          .device = device,
                                                          .phases = ~0u,
                                                          .low = low,
                                                          .bytes = low + more,
                                                          .high = low + 2 * more});
    return ok;
}

static ms_status run_graph(const ms_llama_run *r, ms_llama_build *b, ms_infer_result *result,
                           ms_error *err)
{
    uint64_t bytes = 0, host_bytes = 0;
    ms_status status = r->is_cuda
                           ? ms_graph_alloc_device(b->g, MS_LLAMA_CUDA_ALIGN, MS_LLAMA_HOST_ALIGN,
                                                   &bytes, &host_bytes, err)
                           : ms_graph_alloc_host(b->g, MS_LLAMA_HOST_ALIGN, &bytes, err);
    if (status != MS_OK)
        return status;
    int device = r->is_cuda ? 0 : MS_INFER_HOST;
    bool ok =
        ms_infer_add_exact(result, MS_INFER_COMPUTE, ms_llama_device_name(device), device, bytes) &&
        ms_infer_add_exact(result, MS_INFER_COMPUTE, "CUDA_Host", MS_INFER_HOST, host_bytes);
    return ok ? MS_OK : ms_infer_no_memory(err);
}

ms_status ms_llama_compute_add(const ms_llama_run *r, ms_infer_result *result, ms_error *err)
{
    ms_graph g = {.has_failed = false};
    ms_llama_build b = {.run = r, .model = r->model, .g = &g};
    b.tokens = ms_llama_pad(least(r->n_ctx, r->n_ubatch), r->n_seq);
    b.outputs = least(b.tokens, r->outputs);
    if (!is_covered(r))
        return add_range(r, b.tokens, b.outputs, result) ? MS_OK : ms_infer_no_memory(err);
    build(&b, &shapes[r->model->arch]);
    ms_status status = run_graph(r, &b, result, err);
    ms_graph_free(&g);
    return status;
}
