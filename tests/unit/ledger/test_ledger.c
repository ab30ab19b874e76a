/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The ledger of a step made by hand: three layers, the last with a larger output. Every figure
 * below is worked out in the comments, none comes from the program.
 *
 *     build     weight of each layer, 100 B; the optimizer's state, 40 B
 *     forward   a layer makes a 64 B temporary and a saved output (200 B; 300 B in layer 2)
 *     backward  a gradient per layer, last first; the output goes
 *     update    gradients go
 */
#include "unit/support.h"

#include <string.h>

#include "decide/ledger/ledger.h"
#include "input/config/model/model_config.h"
#include "run/simulate/summary.h"

enum { LAYERS = 3 };

typedef struct hand_made {
    ms_simulated simulated;
    ms_model_config model;
    ms_device device;
    ms_run_config run;
    ms_ledger ledger;
    uint32_t layer_scope[LAYERS];
    uint64_t live[256];
    uint64_t blocks[64];
} hand_made;

static uint32_t name(ms_trace *t, const char *text)
{
    for (uint32_t i = 0; i < t->names.count; i++)
        if (strcmp(t->names.items[i], text) == 0)
            return i;
    assert_true(ms_vec_push(&t->names, text));
    return t->names.count - 1;
}

static uint32_t storage(ms_trace *t, uint32_t scope, const char *text, ms_category category,
                        uint64_t bytes)
{
    ms_storage s = {.bytes = bytes,
                    .op = MS_NONE,
                    .scope = scope,
                    .name = name(t, text),
                    .rank = 1,
                    .dtype = MS_DTYPE_U8,
                    .category = (uint8_t)category,
                    .saved = category == MS_CATEGORY_ACTIVATION};
    s.symbols[0] = ms_dim_number(&t->symbols, bytes).symbol;
    assert_true(ms_vec_push(&t->storages, s));
    return t->storages.count - 1;
}

static void event(hand_made *h, ms_event_kind kind, uint32_t id)
{
    ms_trace *t = &h->simulated.simulation.trace;
    assert_true(ms_vec_push(&t->events, (ms_event){kind, id}));
    uint64_t live = t->events.count > 1 ? h->live[t->events.count - 2] : 0;
    if (kind == MS_EVENT_ALLOC)
        live += t->storages.items[id].bytes;
    if (kind == MS_EVENT_FREE)
        live -= t->storages.items[id].bytes;
    h->live[t->events.count - 1] = live;
}

static void mark(hand_made *h, ms_phase phase, bool begin)
{
    ms_trace *t = &h->simulated.simulation.trace;
    ms_mark m = {.begin = begin, .phase = (uint8_t)phase, .step = 1, .repeats = 1};
    assert_true(ms_vec_push(&t->marks, m));
    event(h, MS_EVENT_MARK, t->marks.count - 1);
    if (begin)
        assert_true(ms_vec_push(&h->simulated.usage.phases,
                                (ms_phase_usage){.phase = (uint8_t)phase, .step = 1}));
}

static uint32_t begin_op(hand_made *h, const char *text, uint32_t scope, ms_pass pass,
                         ms_phase phase)
{
    ms_trace *t = &h->simulated.simulation.trace;
    ms_op_exec op = {.name = text, .scope = scope, .pass = (uint8_t)pass, .phase = (uint8_t)phase};
    op.flops = 1000;
    op.repeats = 1;
    assert_true(ms_vec_push(&t->ops, op));
    event(h, MS_EVENT_OP_BEGIN, t->ops.count - 1);
    return t->ops.count - 1;
}

static void forward(hand_made *h, uint32_t outputs[LAYERS])
{
    ms_trace *t = &h->simulated.simulation.trace;
    mark(h, MS_PHASE_FORWARD, true);
    for (uint32_t i = 0; i < LAYERS; i++) {
        uint32_t op = begin_op(h, "mm", h->layer_scope[i], MS_PASS_FORWARD, MS_PHASE_FORWARD);
        uint32_t scratch = storage(t, h->layer_scope[i], "scratch", MS_CATEGORY_TEMPORARY, 64);
        event(h, MS_EVENT_ALLOC, scratch);
        outputs[i] =
            storage(t, h->layer_scope[i], "out", MS_CATEGORY_ACTIVATION, i == 2 ? 300 : 200);
        event(h, MS_EVENT_ALLOC, outputs[i]);
        event(h, MS_EVENT_FREE, scratch);
        event(h, MS_EVENT_OP_END, op);
    }
    mark(h, MS_PHASE_FORWARD, false);
}

static void backward(hand_made *h, const uint32_t outputs[LAYERS], uint32_t gradients[LAYERS])
{
    ms_trace *t = &h->simulated.simulation.trace;
    mark(h, MS_PHASE_BACKWARD, true);
    for (uint32_t i = LAYERS; i-- > 0;) {
        uint32_t op =
            begin_op(h, "mm.backward", h->layer_scope[i], MS_PASS_BACKWARD, MS_PHASE_BACKWARD);
        gradients[i] = storage(t, h->layer_scope[i], "weight", MS_CATEGORY_GRADIENT, 100);
        event(h, MS_EVENT_ALLOC, gradients[i]);
        event(h, MS_EVENT_OP_END, op);
        event(h, MS_EVENT_FREE, outputs[i]);
    }
    mark(h, MS_PHASE_BACKWARD, false);
}

static uint32_t scope(ms_trace *t, uint32_t parent, const char *text, uint32_t layer)
{
    assert_true(ms_vec_push(&t->scopes, (ms_scope){parent, name(t, text), layer}));
    return t->scopes.count - 1;
}

static void measure_by_hand(hand_made *h, uint32_t first)
{
    ms_trace *t = &h->simulated.simulation.trace;
    h->simulated.usage.steady_first_event = first;
    h->simulated.usage.steady_end_event = t->events.count;
    h->simulated.usage.live_bytes = h->simulated.usage.reserved_bytes = h->live + first;
    h->simulated.usage.block_bytes = h->blocks;
    for (uint32_t i = 0; i < t->storages.count; i++)
        h->blocks[i] = t->storages.items[i].bytes;
    for (uint32_t e = first; e < t->events.count; e++)
        if (h->live[e] > h->simulated.usage.peak_bytes) {
            h->simulated.usage.peak_bytes = h->live[e];
            h->simulated.usage.peak_event = e;
        }
    h->simulated.usage.peak_reserved_bytes = 2000;
}

static void build(hand_made *h, ms_fold_mode mode)
{
    ms_error err = {0};
    assert_int_equal(ms_simulated_summarize(&h->simulated, &err), MS_OK);
    assert_int_equal(ms_ledger_build(&h->simulated, mode, &h->ledger, &err), MS_OK);
}

static void release(hand_made *h)
{
    ms_ledger_free(&h->ledger);
    ms_peak_free(&h->simulated.peak);
    ms_profile_free(&h->simulated.profile);
}

static int set_up(void **state)
{
    static const char *const numbers[LAYERS] = {"0", "1", "2"};
    hand_made *h = calloc(1, sizeof *h);
    *state = h;
    assert_non_null(h);
    ms_trace *t = &h->simulated.simulation.trace;
    assert_true(ms_trace_init(t));
    uint32_t root = scope(t, MS_NONE, "model", MS_NONE);
    uint32_t list = scope(t, root, "layers", MS_NONE);
    for (uint32_t i = 0; i < LAYERS; i++) {
        h->layer_scope[i] = scope(t, list, numbers[i], i);
        event(h, MS_EVENT_ALLOC, storage(t, h->layer_scope[i], "weight", MS_CATEGORY_WEIGHT, 100));
    }
    event(h, MS_EVENT_ALLOC, storage(t, root, "exp_avg", MS_CATEGORY_OPTIMIZER_STATE, 40));
    uint32_t first = t->events.count, outputs[LAYERS], gradients[LAYERS];
    forward(h, outputs);
    backward(h, outputs, gradients);
    mark(h, MS_PHASE_ZERO_GRAD, true);
    for (uint32_t i = 0; i < LAYERS; i++)
        event(h, MS_EVENT_FREE, gradients[i]);
    mark(h, MS_PHASE_ZERO_GRAD, false);
    measure_by_hand(h, first);
    h->device = (ms_device){.name = "hand", .title = "hand made", .cuda_bytes = 3000};
    h->device.context_low_bytes = 100;
    h->device.context_expected_bytes = 200;
    h->device.context_high_bytes = 400;
    h->run.device = &h->device;
    h->run.budget_bytes = h->device.cuda_bytes;
    h->simulated.job = (ms_job){.model = &h->model, .run = &h->run};
    h->simulated.judgement = ms_judge(NULL, &h->run, &h->simulated.usage, NULL);
    build(h, MS_FOLD_LAYERS);
    return 0;
}

static int tear_down(void **state)
{
    hand_made *h = *state;
    release(h);
    ms_vec_free(&h->simulated.usage.phases);
    ms_simulation *s = &h->simulated.simulation;
    ms_trace_free(&s->trace);
    free(h);
    return 0;
}

static const ms_record *find(const hand_made *h, const char *wanted)
{
    char text[128];
    for (uint32_t i = 0; i < h->ledger.records.count; i++) {
        const ms_record *r = &h->ledger.records.items[i];
        ms_ledger_name(&h->ledger, r, text, sizeof text);
        if (strcmp(text, wanted) == 0)
            return r;
    }
    fail_msg("no record %s", wanted);
    return NULL;
}

/* Layers 0 and 1 agree, layer 2 has a larger output; the three weights agree. */
static void folds_equal_layers(void **state)
{
    const hand_made *h = *state;
    char text[64];
    const ms_record *weight = find(h, "model.layers.*.weight");
    assert_int_equal(weight->count, 3);
    const ms_record *twice = find(h, "model.layers.*.mm");
    assert_int_equal(twice->count, 2);
    ms_layers_print(h->ledger.layers.items + twice->first_layers, twice->layer_count, text,
                    sizeof text);
    assert_string_equal(text, "0-1");
    assert_int_equal(find(h, "model.layers.2.mm")->count, 1);
    /* weights, gradients, state; mm and its backward for {0, 1} and for {2} */
    assert_int_equal(h->ledger.records.count, 3 + 2 + 2);
}

static void rebuild(hand_made *h, ms_fold_mode mode)
{
    release(h);
    build(h, mode);
}

static void unrolls(void **state)
{
    hand_made *h = *state;
    rebuild(h, MS_UNROLL);
    assert_int_equal(h->ledger.records.count, 3 + 3 + 1 + 3 + 3);
    assert_int_equal(find(h, "model.layers.1.mm")->memory_bytes, 200);
}

/* A micro-step that stands for 13 counts 13 times, folded or not. */
static void counts_micro_steps_that_follow(void **state)
{
    hand_made *h = *state;
    for (uint32_t i = 0; i < h->simulated.simulation.trace.ops.count; i++)
        h->simulated.simulation.trace.ops.items[i].repeats = 13;
    rebuild(h, MS_FOLD_LAYERS);
    assert_int_equal(find(h, "model.layers.*.mm")->count, 26);
    assert_int_equal(find(h, "model.layers.*.weight")->count, 3);
    rebuild(h, MS_UNROLL);
    assert_int_equal(find(h, "model.layers.1.mm")->count, 13);
}

/* At every point categories sum to what is allocated, and time goes on. */
static void timeline_sums(void **state)
{
    const hand_made *h = *state;
    const ms_ledger *l = &h->ledger;
    uint64_t most = 0;
    assert_true(l->timeline.count > 10);
    for (uint32_t i = 0; i < l->timeline.count; i++) {
        const ms_timeline_point *p = &l->timeline.items[i];
        uint64_t sum = 0;
        for (uint32_t c = 0; c < MS_CATEGORY_COUNT; c++)
            sum += p->category_bytes[c];
        assert_int_equal(sum, p->bytes);
        assert_int_equal(p->category_bytes[MS_CATEGORY_WEIGHT], 300);
        assert_true(i == 0 || p->ms >= p[-1].ms);
        most = p->bytes > most ? p->bytes : most;
    }
    assert_int_equal(most, l->peak->bytes);
    assert_false(l->schedule.is_timed);
}

/* With rates an operator's events lie within its time, evenly. */
static void schedule_spreads(void **state)
{
    hand_made *h = *state;
    h->device.fp32_flops = h->device.bf16_flops = h->device.fp16_flops = 1e12;
    h->device.memory_bytes_per_s = h->device.host_link_bytes_per_s = 1e9;
    h->device.has_assumed_rates = false;
    for (uint32_t i = 0; i < h->simulated.simulation.trace.ops.count; i++)
        h->simulated.simulation.trace.ops.items[i].traffic_bytes = 4000000;
    rebuild(h, MS_FOLD_LAYERS);
    const ms_schedule *s = &h->ledger.schedule;
    assert_true(s->is_timed);
    assert_true(s->event_ms[0] == 0 && s->event_ms[1] == 0); /* mark; the first begins */
    const double quarters[] = {1, 2, 3, 4};                  /* three events, then its end */
    for (uint32_t i = 0; i < 4; i++)
        assert_true(s->event_ms[2 + i] > quarters[i] - 1e-9 &&
                    s->event_ms[2 + i] < quarters[i] + 1e-9);
    assert_true(s->end_ms > 6 * 4 - 1e-9 && s->end_ms < 6 * 4 + 1e-9);
    assert_true(s->end_ms > h->ledger.profile->time.step_ms - 1e-9);
}

static void counts_what_outlives(void **state)
{
    const hand_made *h = *state;
    char text[64];
    const ms_record *r = find(h, "model.layers.*.mm");
    assert_int_equal(r->memory_bytes, 200);
    assert_int_equal(r->saved_bytes, 200);
    assert_int_equal(r->temporary_bytes, 64);
    assert_int_equal(r->category, MS_CATEGORY_ACTIVATION);
    ms_ledger_formula(&h->ledger, r, text, sizeof text);
    assert_string_equal(text, "1*200");
}

/* At the peak: 3 weights, the state, outputs of 200 + 200 + 300, and layer 2's gradient, which is
 * made before its output goes: 300 + 40 + 700 + 100. */
static void composes_the_peak(void **state)
{
    const hand_made *h = *state;
    const ms_peak *peak = h->ledger.peak;
    assert_int_equal(peak->bytes, 1140);
    assert_int_equal(peak->bytes, h->simulated.usage.peak_bytes);
    assert_int_equal(peak->phase, MS_PHASE_BACKWARD);
    assert_int_equal(peak->category_bytes[MS_CATEGORY_WEIGHT], 300);
    assert_int_equal(peak->category_bytes[MS_CATEGORY_ACTIVATION], 700);
    assert_int_equal(peak->category_bytes[MS_CATEGORY_GRADIENT], 100);
    assert_int_equal(peak->category_bytes[MS_CATEGORY_TEMPORARY], 0);
    /* layers 0-1 hold 300 each, layer 2 holds 500, outside lies the state */
    assert_int_equal(peak->layers.count, 3);
    assert_int_equal(peak->layers.items[0].count, 2);
    assert_int_equal(peak->layers.items[0].bytes, 600);
    assert_int_equal(peak->layers.items[1].bytes, 500);
    assert_int_equal(peak->layers.items[2].bytes, 40);
    uint64_t sum_bytes = peak->other_bytes;
    for (uint32_t i = 0; i < peak->tensors.count; i++)
        sum_bytes += peak->tensors.items[i].bytes;
    assert_int_equal(sum_bytes, 1140);
}

static void keeps_the_extremes(void **state)
{
    const hand_made *h = *state;
    uint64_t highest = 0, lowest = UINT64_MAX;
    for (uint32_t i = 0; i < h->ledger.timeline.count; i++) {
        const ms_timeline_point *p = &h->ledger.timeline.items[i];
        highest = p->bytes > highest ? p->bytes : highest;
        lowest = p->bytes < lowest ? p->bytes : lowest;
        assert_true(i == 0 || p[-1].event < p->event);
    }
    assert_int_equal(highest, 1140);
    assert_int_equal(lowest, 340);
}

/* 2000 reserved + 200 context of 3000. */
static void judges_the_budget(void **state)
{
    const hand_made *h = *state;
    const ms_summary *s = h->ledger.summary;
    assert_int_equal(s->low_device_bytes, 2100);
    assert_int_equal(s->expected_device_bytes, 2200);
    assert_int_equal(s->high_device_bytes, 2400);
    assert_int_equal(s->headroom_bytes, 800);
    assert_true(s->fits);
}

static void prints_layers(void **state)
{
    (void)state;
    char text[32];
    const uint32_t layers[] = {0, 2, 5, 6, 7, 9};
    ms_layers_print(layers, 6, text, sizeof text);
    assert_string_equal(text, "0,2,5-7,9");
    assert_int_equal(ms_layers_print(layers, 6, text, 4), 9);
    assert_string_equal(text, "0,2");
}

#define STEP(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STEP(folds_equal_layers),
        STEP(unrolls),
        STEP(timeline_sums),
        STEP(schedule_spreads),
        STEP(counts_micro_steps_that_follow),
        STEP(counts_what_outlives),
        STEP(composes_the_peak),
        STEP(keeps_the_extremes),
        STEP(judges_the_budget),
        cmocka_unit_test(prints_layers),
    };
    return cmocka_run_group_tests_name("ledger", tests, NULL, NULL);
}
