/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the report relies on: the third step does what the second did, the fourth micro-step what
 * the third did, and a step frees all it allocates.
 */
#include "run/step/step.h"

#include <string.h>

#include "input/config/model/model_config.h"
#include "unit/fixtures.h"

typedef struct step_case {
    const char *label, *family;
    ms_dtype dtype;
    ms_autocast autocast;
    ms_optimizer_kind optimizer;
    ms_optimizer_impl implementation;
    bool checkpoint;
    ms_checkpoint_kind kind;
    double dropout;
    ms_optimizer_device place;
    ms_parameter_device parameters;
} step_case;

enum { LAYERS = 4 };

static const ms_device gpu = {.name = "gpu", .compute_capability = 80, .multiprocessors = 108};

static void simulate_with(const step_case *c, uint64_t accumulate, bool in_backward,
                          ms_simulation *simulation)
{
    ms_treatment_kind kind = c->checkpoint ? MS_TREAT_CHECKPOINT : MS_TREAT_KEEP;
    ms_treatment layers[LAYERS];
    for (int i = 0; i < LAYERS; i++)
        layers[i] = (ms_treatment){.kind = kind};
    ms_arena *arena = ms_arena_create(0);
    ms_model_config model = {.family = family_of(arena, c->family),
                             .vocab_size = 512,
                             .hidden_size = 64,
                             .intermediate_size = 160,
                             .num_layers = LAYERS,
                             .num_heads = 4,
                             .num_kv_heads = strcmp(c->family, "gpt2") == 0 ? 4 : 2,
                             .head_dim = 16,
                             .max_positions = 256,
                             .tie_word_embeddings = true,
                             .residual_dropout = c->dropout};
    ms_run_config run = {.batch = 2,
                         .seq_tokens = 96,
                         .dtype = c->dtype,
                         .autocast = c->autocast,
                         .training.optimizer = c->optimizer,
                         .training.optimizer_impl = c->implementation,
                         .training.optimizer_device = c->place,
                         .parameter_device = c->parameters,
                         .training.optimizer_in_backward = in_backward,
                         .training.accumulate = accumulate,
                         .training.clip = !in_backward,
                         .treat = "",
                         .treatments = {.layers = layers},
                         .checkpoint_kind = c->kind,
                         .torch_major = 2,
                         .torch_minor = 11,
                         .device = &gpu};
    ms_error err = {0};
    assert_int_equal(ms_step_simulate(&model, &run, MS_STEPS_ALL, simulation, &err), MS_OK);
    ms_arena_free(arena);
}

static void simulate(const step_case *c, uint64_t accumulate, ms_simulation *simulation)
{
    simulate_with(c, accumulate, false, simulation);
}

/* The event after the mark that begins this phase. */
static uint32_t begin_of(const ms_trace *trace, uint16_t step, ms_phase phase, uint32_t micro_step)
{
    for (uint32_t i = 0; i < trace->events.count; i++) {
        ms_event e = trace->events.items[i];
        const ms_mark *m = &trace->marks.items[e.kind == MS_EVENT_MARK ? e.id : 0];
        if (e.kind == MS_EVENT_MARK && m->begin && m->step == step && m->phase == phase &&
            m->micro_step == micro_step)
            return i + 1;
    }
    fail_msg("step %u has no such phase", step);
    return 0;
}

static bool is_allocator_event(ms_event e)
{
    return e.kind == MS_EVENT_ALLOC || e.kind == MS_EVENT_FREE;
}

static void assert_same_events(const ms_trace *trace, uint32_t a, uint32_t b, uint32_t b_end)
{
    for (;; a++, b++) {
        while (a < trace->events.count && !is_allocator_event(trace->events.items[a]))
            a++;
        while (b < b_end && !is_allocator_event(trace->events.items[b]))
            b++;
        if (b >= b_end)
            return;
        ms_event x = trace->events.items[a], y = trace->events.items[b];
        assert_int_equal(x.kind, y.kind);
        assert_int_equal(trace->storages.items[x.id].bytes, trace->storages.items[y.id].bytes);
    }
}

static void steps_repeat(void **state)
{
    ms_simulation s;
    simulate(*state, 1, &s);
    assert_same_events(&s.trace, begin_of(&s.trace, 2, MS_PHASE_FORWARD, 0),
                       begin_of(&s.trace, 3, MS_PHASE_FORWARD, 0), s.trace.events.count);
    ms_simulation_free(&s);
}

static void micro_steps_repeat(void **state)
{
    ms_simulation s;
    simulate(*state, 9, &s);
    uint32_t third = begin_of(&s.trace, 3, MS_PHASE_FORWARD, 2);
    uint32_t fourth = begin_of(&s.trace, 3, MS_PHASE_FORWARD, 3);
    assert_same_events(&s.trace, third, fourth, begin_of(&s.trace, 3, MS_PHASE_CLIP, 0) - 1);
    ms_mark last = s.trace.marks.items[s.trace.events.items[fourth - 1].id];
    assert_int_equal(last.repeats, 6);
    ms_simulation_free(&s);
}

static void a_step_frees_what_it_allocates(void **state)
{
    ms_simulation s;
    simulate(*state, 2, &s);
    int64_t live_bytes = 0;
    for (uint32_t i = begin_of(&s.trace, 3, MS_PHASE_FORWARD, 0); i < s.trace.events.count; i++) {
        ms_event e = s.trace.events.items[i];
        if (is_allocator_event(e))
            live_bytes +=
                (e.kind == MS_EVENT_ALLOC ? 1 : -1) * (int64_t)s.trace.storages.items[e.id].bytes;
    }
    assert_int_equal(live_bytes, 0);
    ms_simulation_free(&s);
}

/* How many layers have any. */
static uint32_t layers_with(const uint64_t layer_bytes[LAYERS])
{
    uint32_t count = 0;
    for (int i = 0; i < LAYERS; i++)
        count += layer_bytes[i] > 0;
    return count;
}

/* Parameters and gradients of two layers at a time; when a step begins or ends, of none. */
static void layers_come_and_go(void **state)
{
    const step_case *c = *state;
    ms_simulation s;
    if (c->parameters == MS_PARAMETERS_ON_DEVICE)
        skip();
    simulate(c, 3, &s);
    uint64_t weights[LAYERS] = {0}, gradients[LAYERS] = {0};
    uint32_t most = 0, begin = begin_of(&s.trace, 2, MS_PHASE_FORWARD, 0);
    for (uint32_t i = 0; i < s.trace.events.count; i++) {
        ms_event e = s.trace.events.items[i];
        if (i == begin)
            assert_int_equal(layers_with(weights) + layers_with(gradients), 0);
        if (!is_allocator_event(e))
            continue;
        const ms_storage *storage = &s.trace.storages.items[e.id];
        uint32_t layer =
            storage->scope == MS_NONE ? MS_NONE : s.trace.scopes.items[storage->scope].layer;
        uint64_t *bytes = storage->category == MS_CATEGORY_WEIGHT     ? weights
                          : storage->category == MS_CATEGORY_GRADIENT ? gradients
                                                                      : NULL;
        if (layer == MS_NONE || !bytes)
            continue;
        bytes[layer] += e.kind == MS_EVENT_ALLOC ? storage->bytes : -storage->bytes;
        assert_true(layers_with(bytes) <= 2);
        most = bytes == gradients && layers_with(bytes) > most ? layers_with(bytes) : most;
    }
    assert_int_equal(most, 2);
    assert_int_equal(layers_with(weights) + layers_with(gradients), 0);
    ms_simulation_free(&s);
}

/* States on the host take nothing from the device, and the host has them and two copies; and of
 * parameters that it keeps, what lands of a layer while gradients are added up. */
static void the_host_has_the_optimizer(void **state)
{
    step_case c = *(const step_case *)*state;
    ms_simulation s;
    if (!ms_optimizer_traits_of(c.optimizer)->is_everywhere)
        skip();
    c.place = MS_OPTIMIZER_ON_HOST;
    simulate(&c, 2, &s);
    uint64_t passes = c.optimizer == MS_OPTIMIZER_SGD            ? 3
                      : c.optimizer == MS_OPTIMIZER_SGD_MOMENTUM ? 5
                                                                 : 7;
    uint64_t moved[MS_WORK_KINDS] = {0}, counters = 0;
    uint32_t begin = begin_of(&s.trace, 3, MS_PHASE_OPTIMIZER, 0);
    uint32_t end = begin_of(&s.trace, 3, MS_PHASE_ZERO_GRAD, 0);
    for (uint32_t i = begin; i < end; i++) {
        ms_event e = s.trace.events.items[i];
        assert_false(is_allocator_event(e));
        if (e.kind != MS_EVENT_WORK)
            continue;
        const ms_work *work = &s.trace.works.items[e.id];
        moved[work->kind] += work->bytes;
        counters += passes == 7 && work->kind == MS_WORK_HOST_UPDATE ? 4 : 0;
    }
    assert_int_equal(moved[MS_WORK_TO_HOST], s.gradient_bytes);
    assert_int_equal(moved[MS_WORK_TO_DEVICE], s.weight_bytes);
    uint64_t all_bytes = s.weight_bytes + s.host_weight_bytes;
    assert_int_equal(moved[MS_WORK_HOST_UPDATE], passes * all_bytes);
    assert_true((s.host_weight_bytes > 0) == (c.parameters == MS_PARAMETERS_ON_HOST));
    assert_int_equal(s.optimizer_state_bytes, 0);
    assert_int_equal(s.host_peak_bytes,
                     all_bytes * (passes + 1) / 2 + counters + s.host_weight_bytes / LAYERS);
    ms_simulation_free(&s);
}

/* Stepped in backward, no gradient is left after it, and the most that are there at once are a
 * few. */
static void gradients_go_in_backward(void **state)
{
    const step_case *c = *state;
    ms_simulation s;
    if (c->place == MS_OPTIMIZER_ON_HOST)
        skip();
    simulate_with(c, 1, true, &s);
    uint32_t live = 0, most = 0, all = 0, end = begin_of(&s.trace, 3, MS_PHASE_OPTIMIZER, 0);
    for (uint32_t i = begin_of(&s.trace, 3, MS_PHASE_BACKWARD, 0); i < end; i++) {
        ms_event e = s.trace.events.items[i];
        if (!is_allocator_event(e) || s.trace.storages.items[e.id].category != MS_CATEGORY_GRADIENT)
            continue;
        all += e.kind == MS_EVENT_ALLOC;
        live += e.kind == MS_EVENT_ALLOC ? 1 : -1U;
        most = live > most ? live : most;
    }
    assert_int_equal(live, 0);
    assert_true(all > 8 * LAYERS && most <= 4);
    assert_int_equal(s.gradient_bytes, 0);
    ms_simulation_free(&s);
}

/* clang-format off */
static const step_case cases[] = {
    {"llama bf16",          "llama",   MS_DTYPE_BF16, MS_AUTOCAST_NONE, MS_OPTIMIZER_ADAMW, MS_OPTIMIZER_FUSED,   false, MS_CHECKPOINT_NON_REENTRANT, 0, MS_OPTIMIZER_ON_DEVICE, MS_PARAMETERS_ON_DEVICE},
    {"llama autocast",      "llama",   MS_DTYPE_F32,  MS_AUTOCAST_BF16, MS_OPTIMIZER_ADAM,  MS_OPTIMIZER_FOREACH, false, MS_CHECKPOINT_NON_REENTRANT, 0, MS_OPTIMIZER_ON_DEVICE, MS_PARAMETERS_ON_DEVICE},
    {"mistral checkpoints", "mistral", MS_DTYPE_BF16, MS_AUTOCAST_NONE, MS_OPTIMIZER_ADAMW, MS_OPTIMIZER_LOOP,    true,  MS_CHECKPOINT_NON_REENTRANT, 0, MS_OPTIMIZER_ON_DEVICE, MS_PARAMETERS_ON_DEVICE},
    {"qwen2 reentrant",     "qwen2",   MS_DTYPE_F16,  MS_AUTOCAST_NONE, MS_OPTIMIZER_SGD,   MS_OPTIMIZER_FOREACH, true,  MS_CHECKPOINT_REENTRANT,     0, MS_OPTIMIZER_ON_DEVICE, MS_PARAMETERS_ON_DEVICE},
    {"qwen3 autocast ckpt", "qwen3",   MS_DTYPE_F32,  MS_AUTOCAST_F16,  MS_OPTIMIZER_ADAMW, MS_OPTIMIZER_FUSED,   true,  MS_CHECKPOINT_NON_REENTRANT, 0, MS_OPTIMIZER_ON_DEVICE, MS_PARAMETERS_ON_DEVICE},
    {"gpt2 dropout",        "gpt2",    MS_DTYPE_BF16, MS_AUTOCAST_NONE, MS_OPTIMIZER_SGD_MOMENTUM, MS_OPTIMIZER_FOREACH, false, MS_CHECKPOINT_NON_REENTRANT, 0.1, MS_OPTIMIZER_ON_DEVICE, MS_PARAMETERS_ON_DEVICE},
    {"qwen3 at home",       "qwen3",   MS_DTYPE_BF16, MS_AUTOCAST_NONE, MS_OPTIMIZER_ADAMW, MS_OPTIMIZER_FUSED,   false, MS_CHECKPOINT_NON_REENTRANT, 0, MS_OPTIMIZER_ON_HOST, MS_PARAMETERS_ON_HOST},
    {"gpt2 at home, ckpt",  "gpt2",    MS_DTYPE_F32,  MS_AUTOCAST_BF16, MS_OPTIMIZER_SGD,   MS_OPTIMIZER_FUSED,   true,  MS_CHECKPOINT_NON_REENTRANT, 0.1, MS_OPTIMIZER_ON_HOST, MS_PARAMETERS_ON_HOST},
    {"llama at home, again","llama",   MS_DTYPE_BF16, MS_AUTOCAST_NONE, MS_OPTIMIZER_SGD_MOMENTUM, MS_OPTIMIZER_FUSED, true, MS_CHECKPOINT_REENTRANT,    0, MS_OPTIMIZER_ON_HOST, MS_PARAMETERS_ON_HOST},
    {"rmsprop", "gpt2", MS_DTYPE_BF16, MS_AUTOCAST_NONE, MS_OPTIMIZER_RMSPROP, MS_OPTIMIZER_FOREACH, false, MS_CHECKPOINT_NON_REENTRANT, 0, MS_OPTIMIZER_ON_DEVICE, MS_PARAMETERS_ON_DEVICE},
    {"rmsprop loop", "gpt2", MS_DTYPE_BF16, MS_AUTOCAST_NONE, MS_OPTIMIZER_RMSPROP, MS_OPTIMIZER_LOOP, false, MS_CHECKPOINT_NON_REENTRANT, 0, MS_OPTIMIZER_ON_DEVICE, MS_PARAMETERS_ON_DEVICE},
    {"adagrad", "llama", MS_DTYPE_F32, MS_AUTOCAST_BF16, MS_OPTIMIZER_ADAGRAD, MS_OPTIMIZER_FOREACH, false, MS_CHECKPOINT_NON_REENTRANT, 0, MS_OPTIMIZER_ON_DEVICE, MS_PARAMETERS_ON_DEVICE},
    {"adafactor", "llama", MS_DTYPE_BF16, MS_AUTOCAST_NONE, MS_OPTIMIZER_ADAFACTOR, MS_OPTIMIZER_LOOP, false, MS_CHECKPOINT_NON_REENTRANT, 0, MS_OPTIMIZER_ON_DEVICE, MS_PARAMETERS_ON_DEVICE},
    {"adafactor of torch", "gpt2", MS_DTYPE_BF16, MS_AUTOCAST_NONE, MS_OPTIMIZER_ADAFACTOR_TORCH, MS_OPTIMIZER_LOOP, false, MS_CHECKPOINT_NON_REENTRANT, 0, MS_OPTIMIZER_ON_DEVICE, MS_PARAMETERS_ON_DEVICE},
    {"its lists", "qwen2", MS_DTYPE_F32, MS_AUTOCAST_NONE, MS_OPTIMIZER_ADAFACTOR_TORCH, MS_OPTIMIZER_FOREACH, false, MS_CHECKPOINT_NON_REENTRANT, 0, MS_OPTIMIZER_ON_DEVICE, MS_PARAMETERS_ON_DEVICE},
    {"muon", "qwen3", MS_DTYPE_BF16, MS_AUTOCAST_NONE, MS_OPTIMIZER_MUON, MS_OPTIMIZER_FUSED, false, MS_CHECKPOINT_NON_REENTRANT, 0, MS_OPTIMIZER_ON_DEVICE, MS_PARAMETERS_ON_DEVICE},
    {"muon fp32", "gpt2", MS_DTYPE_F32, MS_AUTOCAST_NONE, MS_OPTIMIZER_MUON, MS_OPTIMIZER_LOOP, false, MS_CHECKPOINT_NON_REENTRANT, 0, MS_OPTIMIZER_ON_DEVICE, MS_PARAMETERS_ON_DEVICE},
    {"lion", "llama", MS_DTYPE_BF16, MS_AUTOCAST_NONE, MS_OPTIMIZER_LION, MS_OPTIMIZER_FUSED, false, MS_CHECKPOINT_NON_REENTRANT, 0, MS_OPTIMIZER_ON_DEVICE, MS_PARAMETERS_ON_DEVICE},
    {"paged", "llama", MS_DTYPE_BF16, MS_AUTOCAST_NONE, MS_OPTIMIZER_PAGED_ADAMW_8BIT, MS_OPTIMIZER_FUSED, false, MS_CHECKPOINT_NON_REENTRANT, 0, MS_OPTIMIZER_ON_DEVICE, MS_PARAMETERS_ON_DEVICE},
    {"llama on the host",   "llama",   MS_DTYPE_BF16, MS_AUTOCAST_NONE, MS_OPTIMIZER_ADAMW, MS_OPTIMIZER_FUSED,   false, MS_CHECKPOINT_NON_REENTRANT, 0, MS_OPTIMIZER_ON_HOST, MS_PARAMETERS_ON_DEVICE},
};
/* clang-format on */

int main(void)
{
    struct CMUnitTest tests[6 * COUNT_OF(cases)];
    size_t count = ADD_ROWS(tests, steps_repeat, cases);
    count += ADD_ROWS(tests + count, micro_steps_repeat, cases);
    count += ADD_ROWS(tests + count, a_step_frees_what_it_allocates, cases);
    count += ADD_ROWS(tests + count, layers_come_and_go, cases);
    count += ADD_ROWS(tests + count, the_host_has_the_optimizer, cases);
    count += ADD_ROWS(tests + count, gradients_go_in_backward, cases);
    return _cmocka_run_group_tests("steps", tests, count, NULL, NULL);
}
