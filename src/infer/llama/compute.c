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
    bool adds_to_residual; /* whose memory the sum takes */
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
    [MS_LLAMA_PHI3]     = {.is_known = true, .rotates = true, .fused_qkv = true, .scales_q = true, .adds_to_residual = true, .mlp = MS_LLAMA_GATED_IN_ONE},
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
    return s->adds_to_residual ? ms_llama_add(b, middle, t) : ms_llama_add(b, t, middle);
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

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* What one step of a layer may have beside the logits: rows of an MLP, the largest weight that is
 * copied to a device, masks, scores, and a layer's cache as 32-bit floats. */
static uint64_t of_a_layer(const ms_llama_run *r, uint64_t tokens)
{
    const ms_llama_model *m = r->model;
    uint64_t used = most(m->experts_used, 1), wide = most(m->n_ff, m->n_embd), heads = 0;
    uint64_t weight = 0, kv = 0;
    for (uint64_t i = 0; i < m->n_layer; i++) {
        heads = most(heads, m->layers[i].heads);
        kv = most(kv, m->latent > 0 ? 1 : m->layers[i].kv_heads);
    }
    for (uint32_t i = 0; i < m->tensors.count && r->is_cuda; i++)
        weight = most(weight,
                      m->tensors.items[i].layer >= 0 || m->is_tied ? m->tensors.items[i].bytes : 0);
    uint64_t rows = 4 * tokens * (4 * used * wide + 2 * heads * most(m->head_k, m->head_v));
    uint64_t masks = 4 * tokens * r->n_ctx_seq * (r->flash ? 2 : 2 + heads);
    return rows + weight + masks + 4 * r->n_ctx * kv * (m->head_k + m->head_v);
}

/* Where the graph is not covered: the last norm and the logits are there at least, where the head
 * is. Several devices have the inputs of four batches. */
static bool add_range(const ms_llama_run *r, uint64_t tokens, uint64_t outputs,
                      ms_infer_result *result)
{
    static const char note[] =
        "the compute buffer is a range: the graph of this architecture or placement is not covered";
    uint64_t logits = 4 * outputs * (r->model->n_embd + r->model->n_vocab);
    uint64_t more = of_a_layer(r, tokens);
    int head = ms_llama_device_of(r, r->model->n_layer);
    bool ok = ms_vec_push(&result->notes, note);
    int first = r->is_cuda ? 0 : MS_INFER_HOST, end = r->is_cuda ? (int)r->devices : 0;
    for (int device = first; device < end; device++) {
        uint64_t low = device == head && r->model->conv_width == 0 ? logits : 0;
        ok = ok && ms_infer_add(result, (ms_infer_buffer){.part = MS_INFER_COMPUTE,
                                                          .place = ms_llama_device_name(device),
                                                          .device = device,
                                                          .phases = ~0u,
                                                          .low = low,
                                                          .bytes = low + more,
                                                          .high = logits + 4 * more});
    }
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
    uint64_t tokens = least(r->n_ctx, r->n_ubatch);
    b.tokens = ms_llama_pad(tokens, r->n_seq); /* as many of each sequence */
    b.outputs = least(tokens, r->outputs);
    if (!is_covered(r))
        return add_range(r, b.tokens, b.outputs, result) ? MS_OK : ms_infer_no_memory(err);
    build(&b, &shapes[r->model->arch]);
    ms_status status = run_graph(r, &b, result, err);
    ms_graph_free(&g);
    return status;
}
