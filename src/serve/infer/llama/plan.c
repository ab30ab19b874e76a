/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/llama/plan.h"

#include "serve/infer/llama/attention.h"
#include "serve/infer/llama/experts.h"
#include "serve/infer/llama/recurrent.h"

#define NONE MS_GRAPH_NONE

/* What the architectures' graphs differ in, beside the weights that they have. */
typedef struct shape {
    bool rotates;          /* rotary embeddings */
    bool scales_in;        /* embeddings */
    bool scales_q;         /* queries, after the rotary embedding */
    bool adds_to_residual; /* whose memory the sum takes */
    bool caps;             /* scores of attention, and logits */
    bool outputs_last;     /* the rows with logits are taken after the last layer */
    const char *attention_norm, *mlp_norm, *last_norm;
    const char *after_attention, *after_mlp; /* norms; NULL: none */
    ms_llama_mlp mlp;
    ms_llama_moe moe;
} shape;

#define NORMS .attention_norm = "attn_norm", .mlp_norm = "ffn_norm", .last_norm = "output_norm"
#define POST_NORMS .after_attention = "post_attention_norm", .after_mlp = "post_ffw_norm"

/* clang-format off */
static const shape shapes[MS_LLAMA_ARCHS] = {
    [MS_LLAMA_LLAMA]     = {NORMS, .rotates = true, .moe = {.normalises = true}},
    [MS_LLAMA_QWEN2]     = {NORMS, .rotates = true},
    [MS_LLAMA_QWEN3]     = {NORMS, .rotates = true},
    [MS_LLAMA_QWEN3MOE]  = {NORMS, .rotates = true, .moe = {.normalises = true}},
    [MS_LLAMA_GEMMA2]    = {NORMS, POST_NORMS, .rotates = true, .scales_in = true, .scales_q = true, .caps = true},
    [MS_LLAMA_GEMMA3]    = {NORMS, POST_NORMS, .rotates = true, .scales_in = true, .scales_q = true},
    [MS_LLAMA_GPT2]      = {NORMS, .mlp = MS_LLAMA_UNGATED},
    [MS_LLAMA_PHI3]      = {NORMS, .rotates = true, .scales_q = true, .adds_to_residual = true, .mlp = MS_LLAMA_GATED_IN_ONE},
    [MS_LLAMA_DEEPSEEK2] = {NORMS},
    [MS_LLAMA_GPT_OSS]   = {.attention_norm = "attn_norm", .mlp_norm = "post_attention_norm", .last_norm = "output_norm",
                            .rotates = true, .outputs_last = true, .moe = {.softmax_of_chosen = true}},
    [MS_LLAMA_LFM2]      = {.attention_norm = "attn_norm", .mlp_norm = "ffn_norm", .last_norm = "token_embd_norm",
                            .rotates = true, .adds_to_residual = true},
    [MS_LLAMA_MAMBA2]    = {NORMS},
};
/* clang-format on */

static ms_llama_qkv queries(ms_llama_build *b, const shape *s, uint32_t x, uint64_t layer)
{
    int64_t l = (int64_t)layer;
    ms_llama_qkv of = ms_llama_qkv_of(b, x, layer);
    if (ms_llama_has(b, l, "attn_q_norm.weight"))
        of.q = ms_llama_norm(b, of.q, l, "attn_q_norm", true);
    if (s->rotates)
        of.q = ms_llama_rope(b, of.q, l);
    if (ms_llama_has(b, l, "attn_k_norm.weight"))
        of.k = ms_llama_norm(b, of.k, l, "attn_k_norm", true);
    if (s->rotates)
        of.k = ms_llama_rope(b, of.k, l);
    if (s->scales_q)
        of.q = ms_llama_unary(b, of.q);
    return of;
}

static uint32_t mix(ms_llama_build *b, const shape *s, uint32_t x, uint64_t layer)
{
    if (b->model->arch == MS_LLAMA_MAMBA2)
        return ms_llama_state_space(b, x, layer);
    if (ms_llama_is_recurrent(b->model, layer))
        return ms_llama_short_convolution(b, x, layer);
    if (b->model->latent > 0)
        return ms_llama_attend_latent(b, x, layer);
    return ms_llama_attend(b, queries(b, s, x, layer), layer, s->caps);
}

static uint32_t mlp(ms_llama_build *b, const shape *s, uint32_t x, uint64_t layer)
{
    int64_t l = (int64_t)layer;
    ms_llama_moe moe = s->moe;
    if (!b->model->layers[layer].is_sparse)
        return ms_llama_dense(b, x, l, s->mlp, "");
    moe.normalises = moe.normalises || b->model->normalises_experts;
    moe.scales = b->model->scales_experts;
    uint32_t t = ms_llama_experts(b, x, layer, &moe);
    if (ms_llama_has(b, l, "ffn_up_shexp.weight"))
        t = ms_llama_binary(b, t, ms_llama_dense(b, x, l, MS_LLAMA_GATED, "_shexp"));
    return t;
}

static uint32_t layer_of(ms_llama_build *b, const shape *s, uint32_t in, uint64_t layer)
{
    int64_t l = (int64_t)layer;
    bool is_last = layer + 1 == b->model->n_layer && !s->outputs_last;
    uint32_t t = mix(b, s, ms_llama_norm(b, in, l, s->attention_norm, true), layer);
    if (is_last) {
        t = ms_llama_output_rows(b, t);
        in = ms_llama_output_rows(b, in);
    }
    if (s->after_attention)
        t = ms_llama_norm(b, t, l, s->after_attention, true);
    bool is_residual_first = b->model->arch == MS_LLAMA_LFM2;
    uint32_t middle = is_residual_first ? ms_llama_binary(b, in, t) : ms_llama_binary(b, t, in);
    if (b->model->arch == MS_LLAMA_MAMBA2)
        return middle;
    t = mlp(b, s, ms_llama_norm(b, middle, l, s->mlp_norm, true), layer);
    if (s->after_mlp)
        t = ms_llama_norm(b, t, l, s->after_mlp, false);
    return s->adds_to_residual ? ms_llama_binary(b, middle, t) : ms_llama_binary(b, t, middle);
}

static void set_output(ms_llama_build *b, uint32_t t)
{
    if (t != NONE)
        b->g->tensors.items[t].is_output = true;
}

static void build(ms_llama_build *b, const shape *s)
{
    int64_t head = (int64_t)b->model->n_layer;
    ms_llama_inputs(b);
    uint32_t t = b->embeddings;
    if (s->scales_in)
        t = ms_llama_unary(b, t);
    if (b->model->arch == MS_LLAMA_GPT2)
        t = ms_llama_binary(b, t, ms_llama_gather(b, "position_embd.weight", b->positions));
    for (uint64_t layer = 0; layer < b->model->n_layer; layer++)
        t = layer_of(b, s, t, layer);
    if (s->outputs_last) {
        set_output(b, t);
        t = ms_llama_output_rows(b, t);
    }
    t = ms_llama_norm(b, t, head, s->last_norm, false);
    set_output(b, t);
    bool has_logits = b->model->arch != MS_LLAMA_LFM2 || !b->run->job->settings->llama.embeddings;
    if (has_logits) {
        t = ms_llama_head(b, t);
        for (int i = 0; (s->caps || b->model->caps_logits) && i < 3; i++)
            t = ms_llama_unary(b, t);
        set_output(b, t);
    }
    ms_graph_expand(b->g, t);
}

/* Copies of inputs for several batches under way: all layers are on devices, more than one. */
static bool pipelines(const ms_llama_run *r)
{
    return r->devices > 1 && r->first_device_layer == 0 && !r->places &&
           r->job->settings->llama.kv_offload;
}

static ms_status fail_lacking(const ms_llama_build *b, ms_error *err)
{
    return ms_fail(
        err, MS_ERR_CONFIG,
        "the model's tensor %s is missing, or its shape does not agree with the metadata",
        b->lacking);
}

ms_status ms_llama_plan_make(const ms_llama_run *r, const ms_llama_batch *batch, ms_llama_plan *p,
                             ms_error *err)
{
    *p = (ms_llama_plan){.g = {.has_failed = false}};
    ms_llama_build b = {.run = r,
                        .model = r->model,
                        .g = &p->g,
                        .tokens = batch->tokens,
                        .outputs = batch->outputs,
                        .filled = batch->filled,
                        .is_loaded = batch->is_loaded,
                        .is_fused = batch->is_fused};
    const ms_sched_settings settings = {.devices = r->is_cuda ? r->devices : 0,
                                        .offloads = r->job->settings->llama.op_offload,
                                        .pipelines = pipelines(r)};
    if (ms_llama_build_open(&b))
        build(&b, &shapes[r->model->arch]);
    else
        p->g.has_failed = true;
    ms_llama_build_close(&b);
    ms_status status =
        b.lacking[0] ? fail_lacking(&b, err) : ms_sched_make(&p->g, &settings, &p->schedule, err);
    if (status != MS_OK)
        ms_graph_free(&p->g);
    return status;
}

void ms_llama_plan_free(ms_llama_plan *p)
{
    ms_sched_free(&p->schedule);
    ms_graph_free(&p->g);
}
