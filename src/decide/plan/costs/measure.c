/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Measuring the cost model. Every option is simulated in a model with few layers; costs outside the
 * layers come from the whole model.
 */
#include "decide/plan/costs/measure.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/threads.h"
#include "decide/plan/costs/collectives.h"
#include "decide/plan/costs/copies.h"
#include "decide/plan/costs/layer_profile.h"
#include "decide/plan/costs/option_list.h"
#include "input/config/adapter/adapter.h"
#include "input/config/model/model_config.h"
#include "input/config/run/run_config.h"
#include "input/config/treatment/treatment.h"
#include "run/measure/profile.h"
#include "run/simulate/variation.h"

/* ---- measurement ---- */

/* Simulated steps for the cost model, in parallel threads. */

/* One simulation, in its own thread. */
typedef struct ms_measurement {
    ms_variation variation;
    ms_profile profile;
    ms_op_list *ops; /* operators of the recomputation, if requested */
    ms_status status;
    ms_error err;
} ms_measurement;

static void measure_one(void *context, uint32_t index)
{
    ms_measurement *m = &((ms_measurement *)context)[index];
    const ms_job job = ms_variation_job(&m->variation);
    ms_simulated simulated;
    m->status = ms_simulate(&job, MS_SIMULATE_PROFILE, &simulated, &m->err);
    if (m->status != MS_OK)
        return;
    m->profile = simulated.profile;
    simulated.profile = (ms_profile){0};
    if (m->ops)
        m->status =
            ms_op_list_read(&simulated.simulation.trace, m->variation.run.device, m->ops, &m->err);
    ms_simulated_free(&simulated);
}

/* Simulates all and fills the profiles; the first failure is in *err. */
static ms_status measurements_run(ms_measurement *list, uint32_t count, ms_error *err)
{
    ms_threads_run(count, measure_one, list);
    for (uint32_t i = 0; i < count; i++)
        if (list[i].status != MS_OK) {
            if (err && err->status == MS_OK)
                *err = list[i].err;
            return list[i].status;
        }
    return MS_OK;
}

static void measurements_free(ms_measurement *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        ms_profile_free(&list[i].profile);
}

/* Sets up the run with all layers under one treatment; the layers are in the arena. */
static ms_status measurement_set(ms_arena *arena, const ms_model_config *model,
                                 const ms_run_config *run, const ms_treatment *treatment,
                                 uint32_t loss_chunks, ms_measurement *m, ms_error *err)
{
    *m = (ms_measurement){.variation = ms_vary_run(model, run, arena)};
    if (!ms_vary_all_layers(&m->variation, treatment, loss_chunks))
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %" PRIu64 " layers",
                       model->num_layers);
    return MS_OK;
}

/* ---- shared activations ---- */

/* Tensors made before the layers and freed after the last one, unless a layer keeps them for
 * backward: a mask, position ids. Layers share them, so they are not in their figures, except for
 * the first layer. */

enum { MOST_HOLDERS = 3 };

/* Options hold the same if they are of a kind, so one stands for them: MS_NONE where nothing is
 * held. */
static uint32_t holder_of(const ms_cost_model *costs, const ms_treatment *t)
{
    bool on_cpu =
        t->input == MS_INPUT_SAVED_ON_CPU; /* takes a mask along, where it is positional */
    if ((t->kind == MS_TREAT_CHECKPOINT || t->kind == MS_TREAT_SELECTIVE) && !on_cpu)
        return MS_OPTION_CHECKPOINT;
    for (uint32_t o = 0;
         (on_cpu || t->parts[MS_PART_TILE_ATTENTION] > 0) && o < costs->option_count; o++) {
        const ms_treatment *other = &costs->options[o].treatment;
        if (on_cpu && other->input == MS_INPUT_SAVED_ON_CPU)
            return o;
        if (!on_cpu && other->kind == MS_TREAT_KEEP && other->parts[MS_PART_TILE_ATTENTION] > 0)
            return o;
    }
    return MS_NONE;
}

/* Copies shared_bytes to options added later, from options like them. */
static void shared_activations_share(const ms_run_config *run, ms_cost_model *costs)
{
    bool is_reentrant = run->checkpoint_kind == MS_CHECKPOINT_REENTRANT;
    for (uint32_t o = 0; o < costs->option_count; o++) {
        ms_cost_option *option = &costs->options[o];
        uint32_t holder = holder_of(costs, &option->treatment);
        option->shared_bytes = holder == MS_NONE ? 0 : costs->options[holder].shared_bytes;
        option->holds_to_end = is_reentrant && holder == MS_OPTION_CHECKPOINT;
    }
}

static ms_status read_held(ms_arena *arena, const ms_measurement *m, int64_t kept_level,
                           uint32_t last, ms_cost_option *option, ms_error *err)
{
    uint64_t layers = m->variation.model->num_layers;
    ms_pass_figures p;
    ms_status status = ms_pass_read(arena, &m->profile, 0, layers, &p, err);
    if (status == MS_OK)
        option->shared_bytes = (int64_t)p.backward[layers - 1].begin - kept_level -
                               option->fixed_bytes - ms_layer_saved(&option->layers[last], 0);
    return status;
}

/* What is live when backward begins, but for what the last layer saved. */
static int64_t level_without_last(const ms_layer_cost *kept, const ms_outer_cost *ends,
                                  uint64_t layers)
{
    int64_t level = ends->before_backward[0];
    for (uint64_t i = 0; i + 1 < layers; i++)
        level += ms_layer_saved(&kept[i], 0);
    return level;
}

/* Fills shared_bytes of all options, with one or two simulations. `reduced`: the model that the
 * options were measured with; `kept` and `ends`: its layers and outer costs with all layers kept.
 */
static ms_status shared_activations_measure(ms_arena *arena, const ms_model_config *reduced,
                                            const ms_run_config *run, const ms_layer_cost *kept,
                                            const ms_outer_cost *ends, ms_cost_model *costs,
                                            ms_error *err)
{
    static const ms_treatment keep = {.kind = MS_TREAT_KEEP};
    ms_measurement m[MOST_HOLDERS] = {0};
    uint32_t holders[MOST_HOLDERS], count = 0;
    ms_status status = MS_OK;
    for (uint32_t o = 0; o < costs->option_count && count < MOST_HOLDERS && status == MS_OK; o++) {
        if (holder_of(costs, &costs->options[o].treatment) != o)
            continue;
        status = measurement_set(arena, reduced, run, &keep, 0, &m[count], err);
        if (status == MS_OK)
            m[count].variation.run.treatments.layers[reduced->num_layers - 1] =
                costs->options[o].treatment;
        holders[count++] = o;
    }
    if (status == MS_OK)
        status = measurements_run(m, count, err);
    for (uint32_t i = 0; i < count && status == MS_OK; i++)
        status = read_held(arena, &m[i], level_without_last(kept, ends, reduced->num_layers),
                           costs->layer_count - 1, &costs->options[holders[i]], err);
    costs->simulations += count;
    measurements_free(m, count);
    if (status == MS_OK)
        shared_activations_share(run, costs);
    return status;
}

/* ---- measure ---- */

typedef struct ms_reduced_model {
    ms_model_config model;
    const uint32_t *stands_in; /* per layer of the whole model: the layer that represents it */
} ms_reduced_model;

/* ---- reduced ---- */

/* A model with few layers that represents one with many. */

enum { FEW = 5, FEW_AT_EACH_END = 2 };

/* Which of the few layers of its kind stands for the one that has `before` of its kind before it.
 */
static uint64_t representative(uint64_t before, uint64_t count)
{
    if (count <= FEW || before < FEW_AT_EACH_END)
        return before;
    return count - before <= FEW_AT_EACH_END ? FEW - (count - before) : FEW_AT_EACH_END;
}

static ms_status keep_all(ms_arena *arena, const ms_model_config *model, ms_reduced_model *reduced,
                          ms_error *err)
{
    uint32_t *stands_in = ms_arena_array(arena, uint32_t, model->num_layers);
    if (!stands_in)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the reduced model");
    for (uint32_t i = 0; i < model->num_layers; i++)
        stands_in[i] = i;
    *reduced = (ms_reduced_model){.model = *model, .stands_in = stands_in};
    return MS_OK;
}

/* Buckets of gradients fill up across layers, so that each layer may meet another end of one. */
static bool has_buckets(const ms_run_config *run)
{
    ms_parallel_kind kind = run->parallel.layout.kind;
    return kind == MS_PARALLEL_DDP || kind == MS_PARALLEL_ZERO;
}

/* Keeps, of each kind of layer, the first two and the last two, which may be special, and one that
 * represents those in between, in the model's order. Keeps all layers if the run's adapter differs
 * by layer, or if buckets of gradients span layers. Allocated in the arena. */
static ms_status model_reduce(ms_arena *arena, const ms_model_config *model,
                              const ms_run_config *run, ms_reduced_model *reduced, ms_error *err)
{
    if (!ms_adapter_is_uniform(run->adapter) || has_buckets(run))
        return keep_all(arena, model, reduced, err);
    uint64_t counts[MS_LAYER_KINDS] = {0}, before[MS_LAYER_KINDS] = {0};
    uint32_t places[MS_LAYER_KINDS][FEW];
    uint32_t *stands_in = ms_arena_array(arena, uint32_t, model->num_layers), used = 0;
    uint8_t *kinds = ms_arena_array(arena, uint8_t, (size_t)FEW * MS_LAYER_KINDS);
    if (!kinds || !stands_in)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the reduced model");
    for (uint64_t i = 0; i < model->num_layers; i++)
        counts[ms_layer_kind(model, i)]++;
    uint64_t seen[MS_LAYER_KINDS] = {0}; /* representatives of a kind that have a place */
    for (uint64_t i = 0; i < model->num_layers; i++) {
        uint8_t kind = ms_layer_kind(model, i);
        uint64_t at = representative(before[kind]++, counts[kind]);
        if (at == seen[kind]) {
            kinds[used] = kind;
            places[kind][seen[kind]++] = used++;
        }
        stands_in[i] = places[kind][at];
    }
    *reduced = (ms_reduced_model){.model = *model, .stands_in = stands_in};
    reduced->model.layer_kinds = kinds;
    reduced->model.num_layers = used;
    return MS_OK;
}

/* ---- the cost model ---- */

typedef struct builder {
    ms_arena *arena;
    const ms_model_config *model, *reduced;
    const uint32_t *stands_in;
    const ms_run_config *run;
    ms_cost_model *costs;
    ms_error *err;
} builder;

static ms_status no_memory(builder *b)
{
    return ms_fail(b->err, MS_ERR_NOMEM, "out of memory for the plan's options");
}

/* Figures of the reduced model's layers under an option. */
static ms_status read_costs(builder *b, const ms_profile *profile, ms_layer_cost *costs)
{
    uint64_t layers = b->reduced->num_layers;
    for (uint32_t m = 0; m < b->costs->micro_steps; m++) {
        ms_pass_figures p;
        ms_status status = ms_pass_read(b->arena, profile, m, layers, &p, b->err);
        if (status == MS_OK)
            status = ms_copies_read(b->arena, profile, m, layers, costs, &b->costs->has_exact_waits,
                                    b->err);
        if (status != MS_OK)
            return status;
        for (uint64_t i = 0; i < layers; i++) {
            ms_pass_layer(&p, i, &costs[i].bytes[m]);
            costs[i].host_bytes = p.forward[i].sent;
            costs[i].sent_bytes = ms_pass_sent_by(&p, i, layers);
            costs[i].released_bytes = i + 1 < layers ? p.forward[i + 1].released : 0;
        }
    }
    ms_layers_add_time(profile, layers, costs);
    return ms_collectives_read(b->arena, profile, layers, b->costs, costs, b->err);
}

/* Every layer of the model gets the figures of the one that stands for it. */
static ms_layer_cost *spread(builder *b, const ms_layer_cost *reduced)
{
    uint64_t count = b->model->num_layers;
    ms_layer_cost *costs = ms_arena_array(b->arena, ms_layer_cost, count);
    for (uint64_t i = 0; costs && i < count; i++)
        costs[i] = reduced[b->stands_in[i]];
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
    int64_t fixed =
        kept ? ms_byte_difference(ms_first_layer_begin(profile), ms_first_layer_begin(kept_profile))
             : 0;
    b->costs->options[b->costs->option_count++] =
        (ms_cost_option){.treatment = *treatment, .layers = all, .fixed_bytes = fixed};
    return MS_OK;
}

/* The ends of the whole model, of which every layer is kept. */
static ms_status read_ends(builder *b, const ms_profile *profile, uint64_t layers,
                           const ms_layer_cost *kept, ms_outer_cost *ends)
{
    *ends = (ms_outer_cost){0};
    for (uint32_t m = 0; m < b->costs->micro_steps; m++) {
        ms_pass_figures p;
        ms_status status = ms_pass_read(b->arena, profile, m, layers, &p, b->err);
        if (status != MS_OK)
            return status;
        int64_t made = 0, saved = 0, left = 0;
        for (uint64_t i = 0; i < layers; i++) {
            made += kept[i].bytes[m].forward_end - kept[i].bytes[m].input;
            saved += ms_layer_saved(&kept[i], m);
            left += ms_layer_saved(&kept[i], m) + kept[i].bytes[m].backward_end;
        }
        ends->before_layers[m] = (int64_t)p.forward[0].begin;
        ends->loss_peak[m] = (int64_t)p.loss.peak - made;
        ends->loss_backward_peak[m] = (int64_t)p.loss_backward.peak - saved;
        ends->before_backward[m] = (int64_t)p.backward[layers - 1].begin - saved;
        ends->after_peak[m] = (int64_t)p.after.peak - left;
    }
    ms_ends_read_outside(profile, b->costs->collectives == NULL, ends);
    if (b->costs->collectives)
        ends->ms += b->costs->collectives->sure_wait_ms;
    return MS_OK;
}

/* The ends with the loss in chunks differ from those without as they do in the reduced model. */
static void shift_ends(const ms_outer_cost *whole, const ms_outer_cost *reduced,
                       const ms_outer_cost *reduced_chunked, uint32_t chunks, ms_outer_cost *ends)
{
    *ends = *whole;
    ends->loss_chunks = chunks;
    ends->ms += reduced_chunked->ms - reduced->ms;
    ends->fixed_bytes = reduced_chunked->before_layers[0] - reduced->before_layers[0];
    for (uint32_t m = 0; m < MS_COST_MICRO_STEPS; m++) {
        const ms_outer_cost *a = reduced_chunked, *b = reduced;
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
           a->forward_late == b->forward_late && a->input == b->input &&
           a->backward_peak == b->backward_peak && a->backward_end == b->backward_end;
}

/* How long a layer waits for copies is no difference: at the ends it takes the streams a while. */
static bool same_layers(const ms_cost_model *costs, uint64_t a, uint64_t b)
{
    for (uint32_t o = 0; o < costs->option_count; o++) {
        const ms_layer_cost *x = &costs->options[o].layers[a], *y = &costs->options[o].layers[b];
        for (uint32_t m = 0; m < costs->micro_steps; m++)
            if (!same_bytes(&x->bytes[m], &y->bytes[m]))
                return false;
        double ms = x->ms - x->exposed_ms - (y->ms - y->exposed_ms);
        if (x->host_bytes != y->host_bytes || x->sent_bytes != y->sent_bytes ||
            x->released_bytes != y->released_bytes || ms < -1e-9 || ms > 1e-9)
            return false;
    }
    return true;
}

/* The layers of a segment take as long as the one in its middle; the reduced model is too short for
 * copies to pile up as they do among many. What is sure to be waited is so of each of them. */
enum { MANY = 3 };

static void level_time(ms_cost_model *costs, uint32_t first, uint32_t end)
{
    for (uint32_t o = 0; o < costs->option_count; o++) {
        ms_layer_cost *layers = costs->options[o].layers;
        ms_layer_cost middle = layers[first + (end - first) / 2];
        double wait = middle.steady_exposed_ms - middle.exposed_ms;
        if (wait > 0 && end - first > MANY) {
            middle.ms += wait;
            middle.exposed_ms += wait;
        }
        for (uint32_t i = first; i < end; i++)
            middle.sure_wait_ms = fmin(middle.sure_wait_ms, layers[i].sure_wait_ms);
        for (uint32_t i = first; i < end; i++) {
            layers[i].ms = middle.ms;
            layers[i].exposed_ms = middle.exposed_ms;
            layers[i].sure_wait_ms = middle.sure_wait_ms;
        }
    }
}

static ms_status cut_segments(builder *b)
{
    ms_cost_model *costs = b->costs;
    uint32_t *firsts = ms_arena_array(b->arena, uint32_t, costs->layer_count + 1);
    if (!firsts)
        return no_memory(b);
    costs->segment_count = 0;
    for (uint32_t i = 0; i < costs->layer_count; i++)
        if (i == 0 || !same_layers(costs, i - 1, i))
            firsts[costs->segment_count++] = i;
    firsts[costs->segment_count] = costs->layer_count;
    costs->segments = firsts;
    for (uint32_t s = 0; s < costs->segment_count; s++)
        level_time(costs, firsts[s], firsts[s + 1]);
    return MS_OK;
}

/* The first simulations: the whole model kept, the reduced one kept and checkpointed. */
enum { WHOLE, KEPT, CHECKPOINTED, FIRST_COUNT };

static const ms_treatment keep = {.kind = MS_TREAT_KEEP},
                          checkpoint = {.kind = MS_TREAT_CHECKPOINT};

static ms_status set_first(builder *b, ms_measurement *first, ms_op_list *ops)
{
    ms_status status = measurement_set(b->arena, b->model, b->run, &keep, 0, &first[WHOLE], b->err);
    if (status == MS_OK)
        status = measurement_set(b->arena, b->reduced, b->run, &keep, 0, &first[KEPT], b->err);
    if (status == MS_OK)
        status = measurement_set(b->arena, b->reduced, b->run, &checkpoint, 0, &first[CHECKPOINTED],
                                 b->err);
    first[CHECKPOINTED].ops = ops;
    return status;
}

/* Measures the options that `list` names, and adds them. */
static ms_status add_options(builder *b, const ms_option_list *list, const ms_measurement *first,
                             const ms_layer_cost *kept)
{
    uint32_t count = list->option_count + list->loss_count;
    ms_measurement *m = ms_arena_array(b->arena, ms_measurement, count);
    ms_status status = m ? MS_OK : no_memory(b);
    for (uint32_t i = 0; i < list->option_count && status == MS_OK; i++)
        status = measurement_set(b->arena, b->reduced, b->run, &list->options[i], 0, &m[i], b->err);
    for (uint32_t i = 0; i < list->loss_count && status == MS_OK; i++)
        status = measurement_set(b->arena, b->reduced, b->run, &keep, list->losses[i],
                                 &m[list->option_count + i], b->err);
    if (status != MS_OK)
        return status;
    b->costs->simulations += count;
    status = measurements_run(m, count, b->err);
    ms_layer_cost *costs;
    for (uint32_t i = 0; i < list->option_count && status == MS_OK; i++)
        status =
            add_option(b, &list->options[i], &m[i].profile, &first[KEPT].profile, kept, &costs);
    ms_outer_cost reduced, chunked;
    if (status == MS_OK && list->loss_count > 0)
        status = read_ends(b, &first[KEPT].profile, b->reduced->num_layers, kept, &reduced);
    for (uint32_t i = 0; i < list->loss_count && status == MS_OK; i++) {
        status = read_ends(b, &m[list->option_count + i].profile, b->reduced->num_layers, kept,
                           &chunked);
        shift_ends(&b->costs->losses[0], &reduced, &chunked, list->losses[i],
                   &b->costs->losses[b->costs->loss_count++]);
    }
    measurements_free(m, count);
    return status;
}

static ms_status build(builder *b, uint32_t techniques, ms_measurement *first)
{
    ms_cost_model *costs = b->costs;
    ms_layer_cost *kept, *checkpointed;
    costs->ops = (ms_op_list){.arena = b->arena};
    ms_status status = set_first(b, first, &costs->ops);
    if (status == MS_OK)
        status = measurements_run(first, FIRST_COUNT, b->err);
    first[CHECKPOINTED].ops = NULL; /* it is this function's */
    if (status != MS_OK)
        return status;
    costs->simulations = FIRST_COUNT;
    costs->micro_steps = ms_last_micro_step(&first[KEPT].profile) > 0 ? 2 : 1;
    costs->has_exact_waits = b->run->parameter_device == MS_PARAMETERS_ON_DEVICE;
    ms_count_repeats(&first[KEPT].profile, costs->repeats);
    status =
        ms_collectives_begin(b->arena, &first[WHOLE].profile, b->model->num_layers, costs, b->err);
    if (status == MS_OK)
        status = add_option(b, &keep, &first[KEPT].profile, NULL, NULL, &kept);
    if (status == MS_OK)
        status = read_ends(b, &first[WHOLE].profile, b->model->num_layers, costs->options[0].layers,
                           &costs->losses[costs->loss_count++]);
    if (status == MS_OK)
        status = add_option(b, &checkpoint, &first[CHECKPOINTED].profile, &first[KEPT].profile,
                            kept, &checkpointed);
    ms_option_list *list = ms_arena_array(b->arena, ms_option_list, 1);
    if (status == MS_OK && !list)
        status = no_memory(b);
    if (status == MS_OK)
        status = ms_option_list_make(b->arena, b->model, b->run, techniques, costs, list, b->err);
    if (status == MS_OK)
        status = add_options(b, list, first, kept);
    if (status == MS_OK) {
        ms_option_list_make_shares(costs, list);
        status = add_options(b, list, first, kept);
    }
    ms_outer_cost ends;
    if (status == MS_OK)
        status = read_ends(b, &first[KEPT].profile, b->reduced->num_layers, kept, &ends);
    if (status == MS_OK)
        status =
            shared_activations_measure(b->arena, b->reduced, b->run, kept, &ends, costs, b->err);
    return status == MS_OK ? cut_segments(b) : status;
}

ms_status ms_cost_model_measure(ms_arena *arena, const ms_model_config *model,
                                const ms_run_config *run, uint32_t techniques, ms_cost_model *costs,
                                ms_error *err)
{
    ms_reduced_model reduced;
    ms_measurement *first = ms_arena_array(arena, ms_measurement, FIRST_COUNT);
    if (!first)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the costs of layers");
    *costs = (ms_cost_model){.layer_count = (uint32_t)model->num_layers};
    ms_status status = model_reduce(arena, model, run, &reduced, err);
    if (status != MS_OK)
        return status;
    builder b = {arena, model, &reduced.model, reduced.stands_in, run, costs, err};
    status = build(&b, techniques, first);
    measurements_free(first, FIRST_COUNT);
    return status;
}

ms_status ms_cost_model_add_option(ms_arena *arena, const ms_model_config *model,
                                   const ms_run_config *run, const ms_treatment *treatment,
                                   ms_cost_model *costs, uint32_t *index, ms_error *err)
{
    for (*index = 0; *index < costs->option_count; (*index)++)
        if (ms_treatment_equal(treatment, &costs->options[*index].treatment))
            return MS_OK;
    if (costs->option_count == MS_COST_MOST_OPTIONS)
        return ms_fail(err, MS_ERR_LIMIT, "more than %d options", MS_COST_MOST_OPTIONS);
    ms_reduced_model reduced;
    ms_status status = model_reduce(arena, model, run, &reduced, err);
    if (status != MS_OK)
        return status;
    builder b = {arena, model, &reduced.model, reduced.stands_in, run, costs, err};
    ms_measurement m[2] = {0};
    ms_layer_cost *kept = ms_arena_array(arena, ms_layer_cost, reduced.model.num_layers), *treated;
    status = kept ? MS_OK : no_memory(&b);
    if (status == MS_OK)
        status = measurement_set(arena, b.reduced, run, &keep, 0, &m[0], err);
    if (status == MS_OK)
        status = measurement_set(arena, b.reduced, run, treatment, 0, &m[1], err);
    if (status == MS_OK)
        status = measurements_run(m, 2, err);
    costs->simulations += 2;
    if (status == MS_OK)
        status = read_costs(&b, &m[0].profile, kept);
    if (status == MS_OK)
        status = add_option(&b, treatment, &m[1].profile, &m[0].profile, kept, &treated);
    if (status == MS_OK)
        shared_activations_share(run, costs);
    measurements_free(m, 2);
    return status == MS_OK ? cut_segments(&b) : status;
}

/* ---- shares ---- */

static bool wants_share(const ms_treatment *t)
{
    return t->kind == MS_TREAT_SELECTIVE && t->kept_count == 0;
}

ms_status ms_shares_resolve(ms_arena *arena, const ms_model_config *model, ms_run_config *run,
                            ms_error *err)
{
    ms_reduced_model reduced;
    ms_op_list ops = {.arena = arena};
    ms_measurement m = {0};
    ms_status status = model_reduce(arena, model, run, &reduced, err);
    for (uint64_t i = 0; i < model->num_layers && status == MS_OK; i++) {
        ms_treatment *t = &run->treatments.layers[i], kept;
        if (!wants_share(t))
            continue;
        if (!ops.items) {
            status = measurement_set(arena, &reduced.model, run, &checkpoint, 0, &m, err);
            m.ops = &ops;
            if (status == MS_OK)
                status = measurements_run(&m, 1, err);
        }
        if (status == MS_OK)
            status = ms_selective_of_share(arena, &ops, t->share, &kept, err);
        if (status == MS_OK) {
            kept.input = t->input;
            memcpy(kept.parts, t->parts, sizeof kept.parts);
            *t = kept;
        }
    }
    measurements_free(&m, 1);
    return status;
}
