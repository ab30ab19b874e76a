/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Filling the stack. Every option is run in a model with few layers: the first two and the last two
 * of each kind, which may be special, and one that stands for those between. The ends come from the
 * whole model.
 */
#include "plan/stack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "plan/option_list.h"
#include "step/step.h"

/* ---- a model with few layers ---- */

enum { FEW = 5, FEW_AT_EACH_END = 2 };

static uint64_t few(uint64_t count)
{
    return count < FEW ? count : FEW;
}

static ms_model_config reduce(const ms_model_config *model)
{
    ms_model_config reduced = *model;
    uint64_t full = model->sliding_layers_from < model->num_layers ? model->sliding_layers_from
                                                                   : model->num_layers;
    reduced.num_layers = few(full) + few(model->num_layers - full);
    reduced.sliding_layers_from = full < model->num_layers ? few(full) : reduced.num_layers;
    return reduced;
}

/* The layer of the reduced model that stands for layer `at` of a kind that has `count`. */
static uint64_t representative(uint64_t at, uint64_t count)
{
    if (count <= FEW || at < FEW_AT_EACH_END)
        return at;
    return count - at <= FEW_AT_EACH_END ? FEW - (count - at) : FEW_AT_EACH_END;
}

static uint64_t reduced_layer(const ms_model_config *model, uint64_t layer)
{
    uint64_t full = model->sliding_layers_from < model->num_layers ? model->sliding_layers_from
                                                                   : model->num_layers;
    if (layer < full)
        return representative(layer, full);
    return few(full) + representative(layer - full, model->num_layers - full);
}

/* ---- from a profile to figures of layers ---- */

/* What a layer does in one phase of a micro-step. */
typedef struct span {
    bool is_seen;
    uint64_t begin, peak, end, late, input, released, returned;
    double compute_ms, recompute_ms, exposed_ms;
} span;

/* The layers and ends of one micro-step. */
typedef struct pass {
    span *forward, *backward; /* per layer */
    span loss, loss_backward; /* behind the last layer's forward, before its backward */
    span after;               /* behind the backward pass */
} pass;

static void extend(span *s, const ms_stretch *stretch)
{
    if (!s->is_seen)
        s->begin = stretch->begin_bytes;
    s->is_seen = true;
    s->peak = stretch->peak_bytes > s->peak ? stretch->peak_bytes : s->peak;
    s->end = stretch->end_bytes;
    s->late += stretch->late_bytes;
    s->input += stretch->input_bytes;
    s->released += stretch->released_bytes;
    s->returned += stretch->returned_bytes;
    s->compute_ms += stretch->compute_ms;
    s->recompute_ms += stretch->recompute_ms;
    s->exposed_ms += stretch->exposed_ms;
}

static span *span_of(pass *p, const ms_stretch *stretch, uint64_t layers)
{
    bool forward = stretch->phase == MS_PHASE_FORWARD;
    if (stretch->layer != MS_NONE)
        return forward ? &p->forward[stretch->layer] : &p->backward[stretch->layer];
    if (forward)
        return p->forward[layers - 1].is_seen ? &p->loss : NULL;
    return p->backward[0].is_seen            ? &p->after
           : p->backward[layers - 1].is_seen ? NULL
                                             : &p->loss_backward;
}

/* Micro-step 0 is the first that differs, the last simulated one is the other. */
static uint32_t last_micro_step(const ms_profile *profile)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < profile->stretches.count; i++)
        if (profile->stretches.items[i].micro_step > last)
            last = profile->stretches.items[i].micro_step;
    return last;
}

static bool in_a_pass(const ms_stretch *stretch)
{
    return stretch->phase == MS_PHASE_FORWARD || stretch->phase == MS_PHASE_BACKWARD;
}

static ms_status read_pass(ms_arena *arena, const ms_profile *profile, uint32_t micro_step,
                           uint64_t layers, pass *p, ms_error *err)
{
    *p = (pass){.forward = ms_arena_array(arena, span, layers),
                .backward = ms_arena_array(arena, span, layers)};
    if (!p->forward || !p->backward)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the layers' figures");
    for (uint32_t i = 0; i < profile->stretches.count; i++) {
        const ms_stretch *stretch = &profile->stretches.items[i];
        span *s = stretch->micro_step == micro_step && in_a_pass(stretch)
                      ? span_of(p, stretch, layers)
                      : NULL;
        if (s)
            extend(s, stretch);
    }
    return MS_OK;
}

static int64_t difference(uint64_t a, uint64_t b)
{
    return a >= b ? (int64_t)(a - b) : -(int64_t)(b - a);
}

/* What layer `i` sent comes back while the layer above runs backward. */
static uint64_t sent_by(const pass *p, uint64_t i, uint64_t layers)
{
    return i + 1 < layers ? p->backward[i + 1].returned : 0;
}

static void read_layer(const pass *p, uint64_t i, ms_layer_bytes *bytes)
{
    const span *f = &p->forward[i], *b = &p->backward[i];
    *bytes = (ms_layer_bytes){
        .forward_peak = difference(f->peak, f->begin),
        .forward_end = difference(f->end, f->begin) + (int64_t)f->released,
        .forward_late = (int64_t)f->late,
        .input = (int64_t)f->input,
        .backward_peak = difference(b->peak, b->begin) - (int64_t)b->returned,
        .backward_end = difference(b->end, b->begin) - (int64_t)b->returned,
    };
}

/* What is left of a layer when forward is over. */
static int64_t stays(const ms_layer_bytes *bytes)
{
    return bytes->forward_end - bytes->input - bytes->forward_late;
}

static void add_time(const ms_profile *profile, uint64_t layers, ms_layer_cost *costs)
{
    for (uint32_t i = 0; i < profile->stretches.count; i++) {
        const ms_stretch *s = &profile->stretches.items[i];
        if (s->layer >= layers)
            continue;
        /* Forward waits for what the layer below has sent. */
        bool below = s->phase == MS_PHASE_FORWARD && s->layer > 0;
        ms_layer_cost *cost = &costs[s->layer], *waited = &costs[below ? s->layer - 1 : s->layer];
        cost->ms += s->compute_ms * s->repeats;
        cost->recompute_ms += s->recompute_ms * s->repeats;
        if (s->phase == MS_PHASE_FORWARD && s->micro_step == 0)
            cost->forward_flops += s->flops;
        waited->ms += s->exposed_ms * s->repeats;
        waited->exposed_ms += s->exposed_ms * s->repeats;
    }
}

/* ---- measuring ---- */

/* One simulation, alone in its thread. */
typedef struct measurement {
    const ms_model_config *model;
    ms_run_config run;
    ms_profile profile;
    ms_op_list *ops; /* what recomputation does, when asked for */
    ms_status status;
    ms_error err;
} measurement;

static void measure_one(void *context, uint32_t index)
{
    measurement *m = &((measurement *)context)[index];
    ms_simulation simulation;
    m->run.detail = MS_STEPS_TIMED;
    m->status = ms_step_simulate(m->model, &m->run, &simulation, &m->err);
    if (m->status != MS_OK)
        return;
    m->status = ms_profile_build(&simulation.trace, m->run.device, m->run.allocator.kind,
                                 &m->profile, &m->err);
    if (m->status == MS_OK && m->ops)
        m->status = ms_op_list_read(&simulation.trace, m->run.device, m->ops, &m->err);
    ms_simulation_free(&simulation);
}

static ms_status run_all(measurement *list, uint32_t count, ms_error *err)
{
    ms_parallel_run(count, measure_one, list);
    for (uint32_t i = 0; i < count; i++)
        if (list[i].status != MS_OK) {
            if (err && err->status == MS_OK)
                *err = list[i].err;
            return list[i].status;
        }
    return MS_OK;
}

static void free_all(measurement *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        ms_profile_free(&list[i].profile);
}

/* The run with every layer under one treatment. */
static ms_status set_measurement(ms_arena *arena, const ms_model_config *model,
                                 const ms_run_config *run, const ms_treatment *treatment,
                                 uint32_t loss_chunks, measurement *m, ms_error *err)
{
    *m = (measurement){.model = model, .run = *run};
    ms_treatment *layers = ms_arena_array(arena, ms_treatment, model->num_layers);
    if (!layers)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %" PRIu64 " layers",
                       model->num_layers);
    for (uint64_t i = 0; i < model->num_layers; i++)
        layers[i] = *treatment;
    m->run.treatments = (ms_treatments){layers, loss_chunks};
    return MS_OK;
}

/* ---- the stack ---- */

typedef struct builder {
    ms_arena *arena;
    const ms_model_config *model, *reduced;
    const ms_run_config *run;
    ms_stack *stack;
    ms_error *err;
} builder;

static ms_status no_memory(builder *b)
{
    return ms_fail(b->err, MS_ERR_NOMEM, "out of memory for the plan's options");
}

/* Figures of the reduced model's layers under an option; `kept` are those under keep, NULL when
 * this is keep. */
static ms_status read_costs(builder *b, const ms_profile *profile, ms_layer_cost *costs)
{
    uint64_t layers = b->reduced->num_layers;
    for (uint32_t m = 0; m < b->stack->micro_steps; m++) {
        pass p;
        uint32_t number = m == 0 ? 0 : last_micro_step(profile);
        ms_status status = read_pass(b->arena, profile, number, layers, &p, b->err);
        if (status != MS_OK)
            return status;
        for (uint64_t i = 0; i < layers; i++) {
            read_layer(&p, i, &costs[i].bytes[m]);
            costs[i].sent_bytes = sent_by(&p, i, layers);
            costs[i].released_bytes = i + 1 < layers ? p.forward[i + 1].released : 0;
        }
    }
    add_time(profile, layers, costs);
    return MS_OK;
}

/* What is live when the first layer begins. */
static uint64_t first_begin(const ms_profile *profile)
{
    for (uint32_t i = 0; i < profile->stretches.count; i++)
        if (profile->stretches.items[i].layer == 0)
            return profile->stretches.items[i].begin_bytes;
    return 0;
}

/* Every layer of the model gets the figures of the one that stands for it. */
static ms_layer_cost *spread(builder *b, const ms_layer_cost *reduced)
{
    uint64_t count = b->model->num_layers;
    ms_layer_cost *costs = ms_arena_array(b->arena, ms_layer_cost, count);
    for (uint64_t i = 0; costs && i < count; i++)
        costs[i] = reduced[reduced_layer(b->model, i)];
    return costs;
}

static ms_status add_option(builder *b, const ms_treatment *treatment, const ms_profile *profile,
                            const ms_profile *kept_profile, const ms_layer_cost *kept,
                            ms_layer_cost **costs)
{
    *costs = ms_arena_array(b->arena, ms_layer_cost, b->reduced->num_layers);
    if (!*costs)
        return no_memory(b);
    ms_status status = read_costs(b, profile, *costs);
    if (status != MS_OK)
        return status;
    ms_layer_cost *all = spread(b, *costs);
    if (!all)
        return no_memory(b);
    int64_t fixed = kept ? difference(first_begin(profile), first_begin(kept_profile)) : 0;
    b->stack->options[b->stack->option_count++] = (ms_stack_option){*treatment, all, fixed};
    return MS_OK;
}

/* What no treatment of a layer changes: the way to the first layer, and what follows backward. */
static void read_outside(const ms_profile *profile, ms_stack_ends *ends)
{
    bool is_past_first = false;
    uint8_t phase = MS_PHASE_COUNT;
    for (uint32_t i = 0; i < profile->stretches.count; i++) {
        const ms_stretch *s = &profile->stretches.items[i];
        if (s->phase != phase)
            is_past_first = s->phase == MS_PHASE_BACKWARD;
        phase = s->phase;
        is_past_first = is_past_first || s->layer != MS_NONE;
        if (s->layer != MS_NONE)
            continue;
        ends->ms += (s->compute_ms + s->exposed_ms) * s->repeats;
        if (!is_past_first && s->peak_bytes > ends->fixed_peak)
            ends->fixed_peak = s->peak_bytes;
    }
}

/* The ends of the whole model, of which every layer is kept. */
static ms_status read_ends(builder *b, const ms_profile *profile, uint64_t layers,
                           const ms_layer_cost *kept, ms_stack_ends *ends)
{
    *ends = (ms_stack_ends){0};
    for (uint32_t m = 0; m < b->stack->micro_steps; m++) {
        pass p;
        uint32_t number = m == 0 ? 0 : last_micro_step(profile);
        ms_status status = read_pass(b->arena, profile, number, layers, &p, b->err);
        if (status != MS_OK)
            return status;
        int64_t made = 0, saved = 0, left = 0;
        for (uint64_t i = 0; i < layers; i++) {
            made += kept[i].bytes[m].forward_end - kept[i].bytes[m].input;
            saved += stays(&kept[i].bytes[m]);
            left += stays(&kept[i].bytes[m]) + kept[i].bytes[m].backward_end;
        }
        ends->before_layers[m] = (int64_t)p.forward[0].begin;
        ends->loss_peak[m] = (int64_t)p.loss.peak - made;
        ends->loss_backward_peak[m] = (int64_t)p.loss_backward.peak - saved;
        ends->before_backward[m] = (int64_t)p.backward[layers - 1].begin - saved;
        ends->after_peak[m] = (int64_t)p.after.peak - left;
    }
    read_outside(profile, ends);
    return MS_OK;
}

/* The ends with the loss in chunks differ from those without as they do in the reduced model. */
static void shift_ends(const ms_stack_ends *whole, const ms_stack_ends *reduced,
                       const ms_stack_ends *reduced_chunked, uint32_t chunks, ms_stack_ends *ends)
{
    *ends = *whole;
    ends->loss_chunks = chunks;
    ends->ms += reduced_chunked->ms - reduced->ms;
    ends->fixed_bytes = reduced_chunked->before_layers[0] - reduced->before_layers[0];
    for (uint32_t m = 0; m < MS_STACK_MICRO_STEPS; m++) {
        const ms_stack_ends *a = reduced_chunked, *b = reduced;
        int64_t fixed = ends->fixed_bytes;
        ends->loss_peak[m] += a->loss_peak[m] - b->loss_peak[m] - fixed;
        ends->loss_backward_peak[m] += a->loss_backward_peak[m] - b->loss_backward_peak[m] - fixed;
        ends->before_backward[m] += a->before_backward[m] - b->before_backward[m] - fixed;
        ends->after_peak[m] += a->after_peak[m] - b->after_peak[m] - fixed;
    }
}

static bool same_bytes(const ms_layer_bytes *a, const ms_layer_bytes *b)
{
    return a->forward_peak == b->forward_peak && a->forward_end == b->forward_end &&
           a->forward_late == b->forward_late && a->backward_peak == b->backward_peak &&
           a->backward_end == b->backward_end;
}

/* How long a layer waits for copies is no difference: at the ends it takes the streams a while. */
static bool same_layers(const ms_stack *stack, uint64_t a, uint64_t b)
{
    for (uint32_t o = 0; o < stack->option_count; o++) {
        const ms_layer_cost *x = &stack->options[o].layers[a], *y = &stack->options[o].layers[b];
        for (uint32_t m = 0; m < stack->micro_steps; m++)
            if (!same_bytes(&x->bytes[m], &y->bytes[m]))
                return false;
        double ms = x->ms - x->exposed_ms - (y->ms - y->exposed_ms);
        if (x->sent_bytes != y->sent_bytes || x->released_bytes != y->released_bytes ||
            ms < -1e-9 || ms > 1e-9)
            return false;
    }
    return true;
}

/* The layers of a segment take as long as the one in its middle. */
static void level_time(ms_stack *stack, uint32_t first, uint32_t end)
{
    for (uint32_t o = 0; o < stack->option_count; o++) {
        ms_layer_cost *layers = stack->options[o].layers;
        const ms_layer_cost middle = layers[first + (end - first) / 2];
        for (uint32_t i = first; i < end; i++) {
            layers[i].ms = middle.ms;
            layers[i].exposed_ms = middle.exposed_ms;
        }
    }
}

static ms_status cut_segments(builder *b)
{
    ms_stack *stack = b->stack;
    uint32_t *firsts = ms_arena_array(b->arena, uint32_t, stack->layer_count + 1);
    if (!firsts)
        return no_memory(b);
    stack->segment_count = 0;
    for (uint32_t i = 0; i < stack->layer_count; i++)
        if (i == 0 || !same_layers(stack, i - 1, i))
            firsts[stack->segment_count++] = i;
    firsts[stack->segment_count] = stack->layer_count;
    stack->segments = firsts;
    for (uint32_t s = 0; s < stack->segment_count; s++)
        level_time(stack, firsts[s], firsts[s + 1]);
    return MS_OK;
}

/* The first simulations: the whole model kept, the reduced one kept and checkpointed. */
enum { WHOLE, KEPT, CHECKPOINTED, FIRST_COUNT };

static const ms_treatment keep = {.kind = MS_TREAT_KEEP},
                          checkpoint = {.kind = MS_TREAT_CHECKPOINT};

static ms_status set_first(builder *b, measurement *first, ms_op_list *ops)
{
    ms_status status = set_measurement(b->arena, b->model, b->run, &keep, 0, &first[WHOLE], b->err);
    if (status == MS_OK)
        status = set_measurement(b->arena, b->reduced, b->run, &keep, 0, &first[KEPT], b->err);
    if (status == MS_OK)
        status = set_measurement(b->arena, b->reduced, b->run, &checkpoint, 0, &first[CHECKPOINTED],
                                 b->err);
    first[CHECKPOINTED].ops = ops;
    return status;
}

/* Measures the options that `list` names, and adds them. */
static ms_status add_options(builder *b, const ms_option_list *list, const measurement *first,
                             const ms_layer_cost *kept)
{
    uint32_t count = list->option_count + list->loss_count;
    measurement *m = ms_arena_array(b->arena, measurement, count);
    ms_status status = m ? MS_OK : no_memory(b);
    for (uint32_t i = 0; i < list->option_count && status == MS_OK; i++)
        status = set_measurement(b->arena, b->reduced, b->run, &list->options[i], 0, &m[i], b->err);
    for (uint32_t i = 0; i < list->loss_count && status == MS_OK; i++)
        status = set_measurement(b->arena, b->reduced, b->run, &keep, list->losses[i],
                                 &m[list->option_count + i], b->err);
    if (status != MS_OK)
        return status;
    b->stack->simulations += count;
    status = run_all(m, count, b->err);
    ms_layer_cost *costs;
    for (uint32_t i = 0; i < list->option_count && status == MS_OK; i++)
        status =
            add_option(b, &list->options[i], &m[i].profile, &first[KEPT].profile, kept, &costs);
    ms_stack_ends reduced, chunked;
    if (status == MS_OK && list->loss_count > 0)
        status = read_ends(b, &first[KEPT].profile, b->reduced->num_layers, kept, &reduced);
    for (uint32_t i = 0; i < list->loss_count && status == MS_OK; i++) {
        status = read_ends(b, &m[list->option_count + i].profile, b->reduced->num_layers, kept,
                           &chunked);
        shift_ends(&b->stack->losses[0], &reduced, &chunked, list->losses[i],
                   &b->stack->losses[b->stack->loss_count++]);
    }
    free_all(m, count);
    return status;
}

static ms_status build(builder *b, uint32_t techniques, measurement *first)
{
    ms_stack *stack = b->stack;
    ms_op_list ops = {.arena = b->arena};
    ms_layer_cost *kept, *checkpointed;
    ms_status status = set_first(b, first, &ops);
    if (status == MS_OK)
        status = run_all(first, FIRST_COUNT, b->err);
    if (status != MS_OK)
        return status;
    stack->simulations = FIRST_COUNT;
    stack->micro_steps = last_micro_step(&first[KEPT].profile) > 0 ? 2 : 1;
    status = add_option(b, &keep, &first[KEPT].profile, NULL, NULL, &kept);
    if (status == MS_OK)
        status = read_ends(b, &first[WHOLE].profile, b->model->num_layers, stack->options[0].layers,
                           &stack->losses[stack->loss_count++]);
    if (status == MS_OK)
        status = add_option(b, &checkpoint, &first[CHECKPOINTED].profile, &first[KEPT].profile,
                            kept, &checkpointed);
    ms_option_list list;
    if (status == MS_OK)
        status =
            ms_option_list_make(b->arena, b->model, b->run, techniques, &ops, stack, &list, b->err);
    if (status == MS_OK)
        status = add_options(b, &list, first, kept);
    return status == MS_OK ? cut_segments(b) : status;
}

ms_status ms_stack_measure(ms_arena *arena, const ms_model_config *model, const ms_run_config *run,
                           uint32_t techniques, ms_stack *stack, ms_error *err)
{
    const ms_model_config reduced = reduce(model);
    measurement first[FIRST_COUNT] = {0};
    *stack = (ms_stack){.layer_count = (uint32_t)model->num_layers};
    builder b = {arena, model, &reduced, run, stack, err};
    ms_status status = build(&b, techniques, first);
    free_all(first, FIRST_COUNT);
    return status;
}

ms_status ms_stack_add_option(ms_arena *arena, const ms_model_config *model,
                              const ms_run_config *run, const ms_treatment *treatment,
                              ms_stack *stack, uint32_t *index, ms_error *err)
{
    for (*index = 0; *index < stack->option_count; (*index)++)
        if (ms_treatment_equal(treatment, &stack->options[*index].treatment))
            return MS_OK;
    if (stack->option_count == MS_STACK_MOST_OPTIONS)
        return ms_fail(err, MS_ERR_LIMIT, "more than %d options", MS_STACK_MOST_OPTIONS);
    const ms_model_config reduced = reduce(model);
    builder b = {arena, model, &reduced, run, stack, err};
    measurement m[2] = {0};
    ms_layer_cost *kept = ms_arena_array(arena, ms_layer_cost, reduced.num_layers), *costs;
    ms_status status = kept ? MS_OK : no_memory(&b);
    if (status == MS_OK)
        status = set_measurement(arena, &reduced, run, &keep, 0, &m[0], err);
    if (status == MS_OK)
        status = set_measurement(arena, &reduced, run, treatment, 0, &m[1], err);
    if (status == MS_OK)
        status = run_all(m, 2, err);
    stack->simulations += 2;
    if (status == MS_OK)
        status = read_costs(&b, &m[0].profile, kept);
    if (status == MS_OK)
        status = add_option(&b, treatment, &m[1].profile, &m[0].profile, kept, &costs);
    free_all(m, 2);
    return status == MS_OK ? cut_segments(&b) : status;
}

/* ---- counting a choice ---- */

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The highest level in one micro-step. */
static int64_t count_micro_step(const ms_stack *stack, const ms_stack_choice *choice, uint32_t m)
{
    const ms_stack_ends *ends = &stack->losses[choice->loss];
    int64_t level = ends->before_layers[m], made = 0, late = 0, peak = level;
    uint64_t below = 0;
    for (uint32_t i = 0; i < stack->layer_count; i++) {
        const ms_layer_cost *cost = &stack->options[choice->options[i]].layers[i];
        peak = larger(peak, level + cost->bytes[m].forward_peak);
        level += cost->bytes[m].forward_end - (int64_t)below;
        made += cost->bytes[m].forward_end - cost->bytes[m].input - (int64_t)below;
        late += cost->bytes[m].forward_late;
        below = cost->released_bytes;
    }
    peak = larger(peak, ends->loss_peak[m] + made);
    peak = larger(peak, ends->loss_backward_peak[m] + made - late);
    level = ends->before_backward[m] + made - late;
    for (uint32_t i = stack->layer_count; i-- > 0;) {
        const ms_layer_cost *cost = &stack->options[choice->options[i]].layers[i];
        if (i > 0)
            level += (int64_t)stack->options[choice->options[i - 1]].layers[i - 1].sent_bytes;
        peak = larger(peak, level + cost->bytes[m].backward_peak);
        level += cost->bytes[m].backward_end;
    }
    int64_t left = level - ends->before_backward[m];
    return larger(peak, ends->after_peak[m] + left);
}

ms_stack_sum ms_stack_count(const ms_stack *stack, const ms_stack_choice *choice)
{
    const ms_stack_ends *ends = &stack->losses[choice->loss];
    ms_stack_sum sum = {.peak_bytes = ends->fixed_peak, .step_ms = ends->ms};
    int64_t fixed = ends->fixed_bytes;
    for (uint32_t i = 0; i < stack->layer_count; i++)
        fixed = larger(fixed, stack->options[choice->options[i]].fixed_bytes);
    if (fixed > 0)
        sum.peak_bytes += (uint64_t)fixed;
    for (uint32_t m = 0; m < stack->micro_steps; m++) {
        int64_t peak = count_micro_step(stack, choice, m) + fixed;
        if (peak > 0 && (uint64_t)peak > sum.peak_bytes)
            sum.peak_bytes = (uint64_t)peak;
    }
    for (uint32_t i = 0; i < stack->layer_count; i++) {
        const ms_layer_cost *cost = &stack->options[choice->options[i]].layers[i];
        sum.step_ms += cost->ms;
        sum.host_bytes += cost->sent_bytes;
    }
    return sum;
}

ms_status ms_stack_copy(ms_arena *arena, const ms_stack *stack, const ms_stack_choice *from,
                        ms_stack_choice *to, ms_error *err)
{
    to->loss = from->loss;
    to->options = ms_arena_array(arena, uint32_t, stack->layer_count);
    if (!to->options)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %" PRIu32 " layers",
                       stack->layer_count);
    memcpy(to->options, from->options, stack->layer_count * sizeof *to->options);
    return MS_OK;
}

ms_status ms_stack_treatments(ms_arena *arena, const ms_stack *stack, const ms_stack_choice *choice,
                              ms_treatments *treatments, ms_error *err)
{
    treatments->layers = ms_arena_array(arena, ms_treatment, stack->layer_count);
    if (!treatments->layers)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %" PRIu32 " layers",
                       stack->layer_count);
    for (uint32_t i = 0; i < stack->layer_count; i++)
        treatments->layers[i] = stack->options[choice->options[i]].treatment;
    treatments->loss_chunks = stack->losses[choice->loss].loss_chunks;
    return MS_OK;
}
