/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/ggml/sched.h"

#include <string.h>

#define NONE MS_GRAPH_NONE

enum { UNKNOWN = -1 };

typedef struct split {
    uint32_t begin, end; /* in the order */
    int device;
    uint32_t first_input, inputs; /* in `split_inputs` */
} split;

typedef struct making {
    ms_graph *g;
    ms_schedule *out;
    int host;
    uint32_t tensors;   /* without copies */
    int *at;            /* device by tensor */
    uint32_t *copy;     /* by tensor and device: the first of the copies */
    uint32_t *position; /* in the order, by tensor */
    ms_vec(split) splits;
    ms_vec(uint32_t) split_inputs;
    uint32_t fusion; /* the next one, in the order */
    bool has_failed;
} making;

/* ---- what a device can run ---- */

static const ms_graph_tensor *tensor(const making *m, uint32_t t)
{
    return &m->g->tensors.items[t];
}

static bool has_place(const ms_graph_tensor *t)
{
    return t->op == MS_GRAPH_WEIGHT || t->op == MS_GRAPH_MEMORY;
}

static int place_of(const making *m, const ms_graph_tensor *t)
{
    return t->place == MS_GRAPH_HOST ? m->host : t->place;
}

static bool can_run(const making *m, int device, const ms_graph_tensor *t)
{
    if (device == m->host)
        return true;
    for (uint32_t i = 0; i < t->sources; i++) {
        const ms_graph_tensor *from = tensor(m, t->source[i]);
        if (has_place(from) && from->place != MS_GRAPH_HOST && from->place != device)
            return false;
    }
    return !t->lacks_cuda;
}

/* Of which ggml wants some before weights are worth a copy. */
static uint64_t rows(const ms_graph_tensor *t)
{
    if (t->op == MS_GRAPH_GATHER)
        return 0;
    if (t->op == MS_GRAPH_PRODUCT)
        return t->ne[1];
    return t->op == MS_GRAPH_PRODUCT_OF_CHOSEN ? t->ne[2] : t->ne[1] * t->ne[2] * t->ne[3];
}

static int of_memory(const making *m, const ms_graph_tensor *from, const ms_graph_tensor *op)
{
    int device = place_of(m, from);
    return can_run(m, device, op) ? device : UNKNOWN;
}

static int of_weights(const making *m, const ms_graph_tensor *t)
{
    if (t->op == MS_GRAPH_ROPE || t->op == MS_GRAPH_FLASH)
        return UNKNOWN;
    for (uint32_t i = 0; i < t->sources; i++) {
        const ms_graph_tensor *from = tensor(m, t->source[i]);
        if (from->op != MS_GRAPH_WEIGHT)
            continue;
        int device = of_memory(m, from, t);
        bool is_large = m->out->settings.offloads && rows(t) >= MS_SCHED_OFFLOAD_ROWS;
        for (int d = 0; device == m->host && is_large && d < m->host; d++)
            if (can_run(m, d, t))
                return d;
        return device;
    }
    return UNKNOWN;
}

static int first_choice(const making *m, const ms_graph_tensor *t)
{
    const ms_graph_tensor *root = t->has_wish || t->root == NONE ? t : tensor(m, t->root);
    if (t->has_wish || has_place(root)) {
        int device = of_memory(m, root, t);
        return device == UNKNOWN ? m->host : device;
    }
    return t->op == MS_GRAPH_INPUT ? m->host : of_weights(m, t);
}

/* Whether the device can read the tensor where it is. */
static bool reads(const making *m, int device, uint32_t t)
{
    uint32_t root = tensor(m, t)->root == NONE ? t : tensor(m, t)->root;
    if (has_place(tensor(m, root)))
        return place_of(m, tensor(m, root)) == device;
    int at = m->at[t] == UNKNOWN ? m->at[root] : m->at[t];
    return at == device;
}

/* ---- passes ---- */

static uint32_t node(const making *m, uint32_t i)
{
    return m->g->order.items[i];
}

static bool runs(const making *m, uint32_t t)
{
    return tensor(m, t)->op != MS_GRAPH_VIEW;
}

/* Gives operators without a device that of the one before (or after) them. */
static void spread(making *m, bool is_upwards, bool from_host_too)
{
    int device = UNKNOWN;
    for (uint32_t k = 0; k < m->g->order.count; k++) {
        uint32_t t = node(m, is_upwards ? m->g->order.count - 1 - k : k);
        if (!runs(m, t))
            continue;
        if (m->at[t] != UNKNOWN)
            device = m->at[t] == m->host && !from_host_too ? UNKNOWN : m->at[t];
        else if (device != UNKNOWN && can_run(m, device, tensor(m, t)))
            m->at[t] = device;
    }
}

static void choose_by_sources(making *m)
{
    for (uint32_t k = 0; k < m->g->order.count; k++) {
        uint32_t t = node(m, k);
        int best = -1;
        if (!runs(m, t) || m->at[t] != UNKNOWN)
            continue;
        for (int d = 0; d <= m->host; d++) {
            int readable = 0;
            for (uint32_t i = 0; i < tensor(m, t)->sources; i++)
                readable += reads(m, d, tensor(m, t)->source[i]);
            if (can_run(m, d, tensor(m, t)) && readable > best) {
                best = readable;
                m->at[t] = d;
            }
        }
    }
}

static void fill_rest(making *m)
{
    for (uint32_t k = 0; k < m->g->order.count; k++) {
        uint32_t t = node(m, k);
        const ms_graph_tensor *of = tensor(m, t);
        if (m->at[t] == UNKNOWN && of->root != NONE)
            m->at[t] = m->at[of->root];
        for (uint32_t i = 0; i < of->sources; i++) {
            uint32_t s = of->source[i], root = tensor(m, s)->root;
            if (m->at[s] == UNKNOWN)
                m->at[s] = root == NONE ? m->at[t] : m->at[root];
        }
        if (m->at[t] == UNKNOWN)
            m->at[t] = m->host;
    }
}

static void assign(making *m)
{
    for (uint32_t t = 0; t < m->tensors; t++)
        m->at[t] = tensor(m, t)->is_ordered ? first_choice(m, tensor(m, t)) : UNKNOWN;
    spread(m, false, false);
    spread(m, true, false);
    spread(m, false, true);
    spread(m, true, true);
    choose_by_sources(m);
    fill_rest(m);
}

/* ---- splits ---- */

static uint32_t copies(const making *m)
{
    return m->out->settings.pipelines ? MS_SCHED_PIPELINE_COPIES : 1;
}

static uint32_t make_copies(making *m, uint32_t of)
{
    ms_graph_tensor t = *tensor(m, of);
    uint32_t first = m->g->tensors.count;
    t.op = MS_GRAPH_COPY;
    t.sources = 0;
    t.root = NONE;
    t.extra_bytes = 0;
    t.may_be_in_place = false;
    t.is_output = m->out->settings.pipelines;
    for (uint32_t i = 0; i < copies(m); i++)
        m->has_failed = m->has_failed || !ms_vec_push(&m->g->tensors, t);
    return first;
}

static uint32_t *copy_of(making *m, uint32_t t, int device)
{
    return &m->copy[(size_t)t * (size_t)(m->host + 1) + (size_t)device];
}

/* A weight of another place begins a split, whose copies of weights take the memory of those of the
 * split before. */
static bool begins_split(const making *m, const split *s, uint32_t t)
{
    if (m->at[t] != s->device)
        return true;
    for (uint32_t i = 0; i < tensor(m, t)->sources && s->inputs > 0; i++) {
        uint32_t source = tensor(m, t)->source[i];
        if (tensor(m, source)->op == MS_GRAPH_WEIGHT && m->at[source] != s->device &&
            !reads(m, s->device, source))
            return true;
    }
    return false;
}

static void copy_sources(making *m, split *s, uint32_t t)
{
    for (uint32_t i = 0; i < tensor(m, t)->sources && !m->has_failed; i++) {
        uint32_t source = tensor(m, t)->source[i];
        if (m->at[source] == s->device || reads(m, s->device, source))
            continue;
        if (*copy_of(m, source, s->device) == NONE) {
            *copy_of(m, source, s->device) = make_copies(m, source);
            m->has_failed = m->has_failed || !ms_vec_push(&m->split_inputs, source);
            s->inputs++;
        }
        m->g->tensors.items[t].source[i] = *copy_of(m, source, s->device);
    }
}

static void cut(making *m)
{
    split s = {.device = m->host};
    uint32_t i = 0, count = m->g->order.count;
    while (i < count && !runs(m, node(m, i)))
        i++;
    if (i < count)
        s.device = m->at[node(m, i)];
    for (; i < count && !m->has_failed; i++) {
        uint32_t t = node(m, i);
        if (!runs(m, t))
            continue;
        if (begins_split(m, &s, t)) {
            s.end = i;
            m->has_failed = !ms_vec_push(&m->splits, s);
            s = (split){.begin = i, .device = m->at[t], .first_input = m->split_inputs.count};
        }
        copy_sources(m, &s, t);
    }
    s.end = count;
    m->has_failed = m->has_failed || !ms_vec_push(&m->splits, s);
}

/* ---- steps ---- */

static void add_step(making *m, uint32_t t, int device)
{
    m->has_failed =
        m->has_failed || !ms_vec_push(&m->out->steps, (ms_sched_step){t, (uint32_t)device, 0, 0});
}

static void keep(making *m, ms_sched_step *s, uint32_t t)
{
    for (uint32_t i = 0; i < s->kept; i++)
        if (m->out->kept.items[s->first_kept + i] == t)
            return;
    m->has_failed = m->has_failed || !ms_vec_push(&m->out->kept, t);
    s->kept++;
}

/* Whether a fusion's operators are one after the other in one split of a device; the split `at` is
 * that of the operator until which it keeps tensors. */
static bool is_fused(const making *m, const ms_graph_fusion *f, uint32_t at)
{
    uint32_t first = m->position[f->first], last = m->position[f->last];
    uint32_t of = last < m->splits.items[at].begin && at > 0 ? at - 1 : at;
    return last - first + 1 == f->count && first >= m->splits.items[of].begin &&
           m->splits.items[of].device < m->host;
}

/* What must outlive the operator at `position`, by kernels that stand for several operators. */
static void add_kept(making *m, uint32_t at, uint32_t position)
{
    ms_sched_step s = {.tensor = NONE,
                       .device = (uint32_t)m->splits.items[at].device,
                       .first_kept = m->out->kept.count};
    const ms_graph_fusion *f = &m->g->fusions.items[m->fusion];
    if (m->fusion == m->g->fusions.count || m->position[f->last] + f->keeps_all != position)
        return;
    m->fusion++;
    uint32_t end = f->keeps_all ? m->position[f->last] : m->position[f->first];
    for (uint32_t i = m->position[f->first]; i <= end && is_fused(m, f, at); i++) {
        if (f->keeps_all)
            keep(m, &s, node(m, i));
        for (uint32_t n = 0; n < tensor(m, node(m, i))->sources; n++)
            keep(m, &s, tensor(m, node(m, i))->source[n]);
    }
    if (s.kept > 0)
        m->has_failed = m->has_failed || !ms_vec_push(&m->out->steps, s);
}

static void add_split(making *m, uint32_t at)
{
    const split *s = &m->splits.items[at];
    for (uint32_t i = 0; i < s->inputs; i++) {
        uint32_t input = m->split_inputs.items[s->first_input + i];
        ms_sched_step until = {.tensor = NONE,
                               .device = (uint32_t)m->at[input],
                               .first_kept = m->out->kept.count,
                               .kept = 1};
        m->has_failed = m->has_failed || !ms_vec_push(&m->out->kept, input) ||
                        !ms_vec_push(&m->out->steps, until);
        add_step(m, *copy_of(m, input, s->device), s->device);
    }
    for (uint32_t i = s->begin; i < s->end; i++) {
        add_step(m, node(m, i), m->at[node(m, i)]);
        add_kept(m, at, i);
    }
}

static void add_leaf(making *m, uint32_t t, int device)
{
    m->has_failed =
        m->has_failed || !ms_vec_push(&m->out->leaves, (ms_sched_step){t, (uint32_t)device, 0, 0});
}

static void add_leaves(making *m)
{
    bool pipelines = m->out->settings.pipelines;
    for (uint32_t i = 0; i < m->g->inputs.count; i++) {
        uint32_t input = m->g->inputs.items[i], first = m->g->tensors.count;
        add_leaf(m, input, m->host);
        if (!pipelines)
            continue;
        m->g->tensors.items[input].is_output = true; /* stays until the end */
        make_copies(m, input);
        for (uint32_t k = 1; k < copies(m) && !m->has_failed; k++)
            add_leaf(m, first + k, m->host);
    }
    for (uint32_t i = 0; i < m->splits.count && pipelines; i++) {
        const split *s = &m->splits.items[i];
        for (uint32_t k = 0; k < s->inputs * copies(m); k++) {
            uint32_t input = m->split_inputs.items[s->first_input + k / copies(m)];
            add_leaf(m, *copy_of(m, input, s->device) + k % copies(m), s->device);
        }
    }
}

ms_status ms_sched_make(ms_graph *g, const ms_sched_settings *settings, ms_schedule *schedule,
                        ms_error *err)
{
    making m = {
        .g = g, .out = schedule, .host = (int)settings->devices, .tensors = g->tensors.count};
    *schedule = (ms_schedule){.settings = *settings};
    size_t places = settings->devices + 1;
    m.at = calloc((size_t)m.tensors + 1, sizeof *m.at);
    m.copy = calloc(((size_t)m.tensors + 1) * places, sizeof *m.copy);
    m.position = calloc((size_t)m.tensors + 1, sizeof *m.position);
    m.has_failed = g->has_failed || !m.at || !m.copy || !m.position;
    if (!m.has_failed) {
        memset(m.copy, 0xff, m.tensors * places * sizeof *m.copy); /* NONE */
        for (uint32_t i = 0; i < g->order.count; i++)
            m.position[node(&m, i)] = i;
        assign(&m);
        cut(&m);
        schedule->splits = m.splits.count;
        for (uint32_t i = 0; i < m.splits.count && !m.has_failed; i++)
            add_split(&m, i);
        add_leaves(&m);
    }
    free(m.at);
    free(m.copy);
    free(m.position);
    ms_vec_free(&m.splits);
    ms_vec_free(&m.split_inputs);
    if (m.has_failed)
        ms_sched_free(schedule);
    return m.has_failed ? ms_fail(err, MS_ERR_NOMEM, "no memory for a graph of operators") : MS_OK;
}

void ms_sched_free(ms_schedule *schedule)
{
    ms_vec_free(&schedule->leaves);
    ms_vec_free(&schedule->steps);
    ms_vec_free(&schedule->kept);
}
