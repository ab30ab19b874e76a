/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/mixture/indexer.h"

#include "input/config/model/model_config.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/ops.h"

struct ms_indexer {
    uint32_t scope;
    ms_linear_module query, key, weights;
    ms_norm_module key_norm;
    ms_dim heads, width;
};

ms_indexer *ms_indexer_new(ms_model *model, uint32_t parent)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_model_config *c = model->config;
    ms_indexer *m = ms_arena_array(model->arena, ms_indexer, 1);
    if (!m)
        return NULL;
    m->scope = ms_scope_add(model->tape, parent, "indexer", MS_NONE);
    m->heads = ms_dim_name(s, "Hi", c->index_heads);
    m->width = ms_dim_name(s, "Di", c->index_dim);
    m->query = ms_linear_new(model, m->scope, "wq_b", ms_dim_name(s, "Rq", c->query_rank),
                             ms_dim_mul(s, m->heads, m->width), false);
    m->key = ms_linear_new(model, m->scope, "wk", model->hidden, m->width, false);
    m->key_norm = ms_norm_new(model, m->scope, "k_norm", m->width, true);
    m->weights = ms_linear_new(model, m->scope, "weights_proj", model->hidden, m->heads, false);
    return m;
}

/* ---- forward ---- */

/* The function's locals, in its order. */
typedef struct choice {
    ms_tensor *query, *q_turned, *q_plain, *key, *k_turned, *k_plain, *scores, *weights, *sums;
} choice;

static void bind(ms_locals *f, choice *t)
{
    ms_tensor **const locals[] = {&t->query,   &t->q_turned, &t->q_plain, &t->key, &t->k_turned,
                                  &t->k_plain, &t->scores,   &t->weights, &t->sums};
    for (size_t i = 0; i < sizeof locals / sizeof *locals; i++)
        *locals[i] = ms_local(f, 0);
}

/* x split in the part that is rotated and the rest */
static void split(ms_model *model, ms_locals *f, ms_tensor x, ms_tensor *turned, ms_tensor *plain)
{
    ms_tensor parts[2] = {0};
    ms_split_at(model->tape, x, model->head_dim, parts);
    ms_assign(f, turned, parts[0]);
    ms_assign(f, plain, parts[1]);
}

static void make_queries_and_keys(ms_model *model, const ms_indexer *m, const ms_index_inputs *in,
                                  ms_locals *f, choice *t)
{
    ms_tape *tape = model->tape;
    ms_dim batch = model->batch, seq = model->seq;
    ms_assign(f, t->query, ms_linear_call(model, &m->query, in->latent));
    ms_assign(f, t->query, ms_view(tape, *t->query, MS_SHAPE(batch, seq, m->heads, m->width)));
    split(model, f, *t->query, t->q_turned, t->q_plain);
    ms_tensor key =
        ms_layer_norm_call(model, &m->key_norm, ms_linear_call(model, &m->key, in->hidden));
    ms_assign(f, t->key, ms_unsqueeze(tape, key, 2));
    split(model, f, *t->key, t->k_turned, t->k_plain);
    ms_tensor query = ms_rotary_turn(tape, *t->q_turned, in->cos, in->sin, 2);
    ms_retain(tape, query);
    ms_assign(f, t->k_turned, ms_rotary_turn(tape, *t->k_turned, in->cos, in->sin, 2));
    ms_assign(f, t->q_turned, ms_unown(tape, query));
    ms_assign(f, t->query, ms_cat2(tape, *t->q_turned, *t->q_plain, 3));
    ms_assign(f, t->key, ms_cat2(tape, *t->k_turned, *t->k_plain, 3));
    ms_assign(f, t->key, ms_view(tape, *t->key, MS_SHAPE(batch, seq, m->width)));
}

static ms_tensor widened(ms_tape *tape, ms_tensor x)
{
    return ms_idle(tape) || !x ? 0 : ms_to(tape, x, MS_DTYPE_F32);
}

/* relu(query keyᵀ) of each head, added up by the token's weights: [B, S, keys] */
static void score(ms_model *model, const ms_indexer *m, ms_tensor hidden, ms_locals *f, choice *t)
{
    ms_tape *tape = model->tape;
    ms_tensor query = widened(tape, *t->query);
    ms_retain(tape, query);
    ms_tensor keys = ms_unsqueeze(tape, widened(tape, ms_transpose(tape, *t->key, 1, 2)), 1);
    ms_assign(f, t->scores, ms_mul_scalar(tape, ms_matmul(tape, ms_unown(tape, query), keys)));
    ms_assign(f, t->scores, ms_idle(tape) ? 0 : ms_relu(tape, *t->scores));
    if (ms_idle(tape))
        return;
    ms_dtype dtype = (ms_dtype)ms_info(tape, m->weights.weight)->dtype;
    ms_tensor weights = ms_linear_call(model, &m->weights, ms_to(tape, hidden, dtype));
    ms_assign(f, t->weights, ms_mul_scalar(tape, widened(tape, weights)));
    ms_tensor sums = ms_matmul(tape, ms_unsqueeze(tape, *t->weights, 2), *t->scores);
    ms_assign(f, t->sums, ms_view(tape, sums, MS_SHAPE(model->batch, model->seq, model->seq)));
}

/* index_scores without what the mask hides */
static void hide(ms_model *model, ms_tensor mask, ms_locals *f, choice *t)
{
    ms_tape *tape = model->tape;
    const ms_shape all = MS_SHAPE(model->batch, model->seq, model->seq);
    if (ms_idle(tape) || !mask)
        return;
    if (ms_info(tape, mask)->dtype != MS_DTYPE_BOOL) {
        ms_assign(f, t->sums, ms_add(tape, *t->sums, ms_select(tape, mask, 1)));
        return;
    }
    ms_tensor hidden = ms_empty(tape, all, MS_DTYPE_BOOL);
    ms_retain(tape, hidden);
    ms_tensor filled = ms_masked_fill(tape, *t->sums, hidden);
    ms_release(tape, hidden);
    ms_assign(f, t->sums, filled);
}

/* The places of the best tokens, int32 [B, S, K]. */
static ms_tensor choose(ms_model *model, const ms_indexer *m, const ms_index_inputs *in)
{
    ms_tape *tape = model->tape;
    const uint64_t most = model->config->index_tokens, seq = model->seq.value;
    ms_tensor best[2] = {0};
    choice t;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_locals f = ms_locals_begin(tape);
    bind(&f, &t);
    make_queries_and_keys(model, m, in, &f, &t);
    score(model, m, in->hidden, &f, &t);
    hide(model, in->mask, &f, &t);
    ms_topk(tape, *t.sums, ms_dim_number(&tape->trace->symbols, most < seq ? most : seq), best);
    ms_retain(tape, best[1]);
    ms_consume(tape, best[0]);
    ms_tensor *out = ms_local(&f, ms_idle(tape) ? 0 : ms_to(tape, best[1], MS_DTYPE_I32));
    ms_release(tape, best[1]);
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

/* ones.scatter(-1, places.long(), False)[:, None]: what is not chosen */
static ms_tensor not_chosen(ms_model *model, ms_tensor places)
{
    ms_tape *tape = model->tape;
    const ms_shape all = MS_SHAPE(model->batch, model->seq, model->seq);
    if (ms_idle(tape) || !places)
        return 0;
    ms_tensor ones = ms_empty(tape, all, MS_DTYPE_BOOL);
    ms_tensor wide = ms_to(tape, places, MS_DTYPE_I64);
    ms_tensor out = ms_empty(tape, all, MS_DTYPE_BOOL);
    ms_consume(tape, ones);
    ms_consume(tape, wide);
    return ms_unsqueeze(tape, out, 1);
}

void ms_indexer_mask(ms_model *model, const ms_indexer *m, const ms_index_inputs *in, ms_locals *f,
                     ms_tensor *mask)
{
    ms_tape *tape = model->tape;
    ms_dim one = ms_dim_number(&tape->trace->symbols, 1);
    const bool grad_enabled = tape->grad_enabled;
    tape->grad_enabled = false;
    ms_tensor *places = ms_local(f, choose(model, m, in));
    ms_tensor *hidden = ms_local(f, not_chosen(model, *places));
    if (!ms_idle(tape) && in->mask) {
        const ms_dtype dtype = (ms_dtype)ms_info(tape, in->mask)->dtype;
        const ms_shape all = MS_SHAPE(model->batch, one, model->seq, model->seq);
        /* mask & ~hidden, or mask.masked_fill(hidden, lowest) */
        ms_tensor chosen = dtype == MS_DTYPE_BOOL ? ms_empty(tape, all, MS_DTYPE_BOOL) : 0;
        ms_assign(f, mask, ms_empty(tape, all, dtype));
        ms_consume(tape, chosen);
    }
    (void)hidden;
    tape->grad_enabled = grad_enabled;
}
