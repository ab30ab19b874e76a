/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One rank of several: what it holds of weights and of states, as PyTorch measured it (smollm2-135m
 * in fp32, computed in bf16), how many layers are gathered at once, and that steps repeat.
 */
#include "run/step/step.h"

#include "input/config/model/model_config.h"
#include "unit/fixtures.h"

enum { MOST_SETTINGS = 10, LAYERS = 30 };

typedef struct rank_case {
    const char *label;
    ms_run_setting settings[MOST_SETTINGS];
    uint64_t weights, states; /* bytes, where they were measured */
    uint32_t gathered;        /* layers whose whole weights are there at once */
} rank_case;

#define FSDP1                                                                                      \
    {"parallel", "fsdp1=8"}, {"param-dtype", "bf16"},                                              \
    {                                                                                              \
        "reduce-dtype", "fp32"                                                                     \
    }
#define FSDP2                                                                                      \
    {"parallel", "fsdp=8"}, {"param-dtype", "bf16"},                                               \
    {                                                                                              \
        "reduce-dtype", "fp32"                                                                     \
    }

static const rank_case cases[] = {
    {"flat parameters of FSDP1", {FSDP1}, 67257504, 134515372, 2},
    {"another rank", {FSDP1, {"rank", "3"}}, 67257504, 134515252, 2},
    {"built on the device", {FSDP1, {"build", "device"}}, 67257504, 134515372, 2},
    {"padded parts",
     {{"parallel", "fsdp1=7"},
      {"rank", "6"},
      {"param-dtype", "bf16"},
      {"reduce-dtype", "fp32"},
      {"use-orig-params", "no"}},
     76865720,
     153731564,
     2},
    {"gathered after backward", {FSDP1, {"backward-prefetch", "post"}}, 67257504, 134515372, 1},
    {"gathered in time", {FSDP1, {"backward-prefetch", "none"}}, 67257504, 134515372, 1},
    {"gathered ahead in forward",
     {FSDP1, {"backward-prefetch", "none"}, {"forward-prefetch", "yes"}},
     67257504,
     134515372,
     2},
    {"kept until backward", {FSDP1, {"reshard-after-forward", "no"}}, 67257504, 134515372, LAYERS},
    {"copies", {{"parallel", "hsdp1=2x8"}, {"param-dtype", "bf16"}}, 67257504, 134515372, 2},
    {"shards of FSDP2", {FSDP2}, 0, 0, 1},
    {"uneven shards",
     {{"parallel", "fsdp=7"}, {"rank", "6"}, {"param-dtype", "bf16"}, {"reduce-dtype", "fp32"}},
     77254940,
     149061872,
     1},
    {"among fewer ranks", {FSDP2, {"reshard-ranks", "2"}}, 0, 0, LAYERS},
    {"kept after backward", {FSDP2, {"reshard-after-backward", "no"}}, 0, 0, 1},
    {"on the host", {FSDP2, {"fsdp-offload", "yes"}}, 0, 0, 1},
    {"with an adapter", {FSDP2, {"lora", "r=8,targets=q_proj+v_proj"}}, 0, 0, 1},
    {"cast when they are divided", {FSDP1, {"load-dtype", "bf16"}}, 67257504, 134515372, 2},
    {"under autocast", {FSDP1, {"autocast", "bf16"}}, 67257504, 134515372, 2},
    {"divided from the host", {FSDP2, {"build", "host"}}, 0, 0, 1},
    {"sharded on the device", {FSDP2, {"build", "device"}}, 0, 0, 1},
    {"states of some parameters",
     {{"parallel", "dp=8"}, {"rank", "3"}, {"dtype", "bf16"}, {"zero-optimizer", "yes"}},
     269030016,
     60627616,
     0},
    {"parameters as views",
     {{"parallel", "dp=8"},
      {"dtype", "bf16"},
      {"zero-optimizer", "yes"},
      {"parameters-as-bucket-view", "yes"}},
     269030016,
     113246212,
     0},
};

static void simulate(const rank_case *c, const char *accumulate, ms_simulation *simulation)
{
    ms_run_setting settings[MOST_SETTINGS + 6] = {
        {"config", "smollm2-135m"},  {"dtype", "fp32"},  {"seq", "128"},
        {"optimizer-impl", "fused"}, {"no-sync", "yes"}, {"accumulate", accumulate}};
    uint32_t count = 6;
    for (uint32_t i = 0; i < MOST_SETTINGS && c->settings[i].field; i++) {
        bool is_dtype = strcmp(c->settings[i].field, "dtype") == 0;
        settings[is_dtype ? 1 : count++] = c->settings[i];
    }
    ms_arena *arena = ms_arena_create(0);
    ms_model_config model;
    ms_run_config run;
    ms_error err = {0};
    load_run_on("a100-80gb", arena, settings, count, &model, &run);
    assert_int_equal(ms_step_simulate(&model, &run, MS_STEPS_ALL, simulation, &err), MS_OK);
    ms_arena_free(arena);
}

static uint32_t step_begin(const ms_trace *trace, uint16_t step)
{
    for (uint32_t i = 0; i < trace->events.count; i++) {
        const ms_event e = trace->events.items[i];
        const ms_mark *m = &trace->marks.items[e.kind == MS_EVENT_MARK ? e.id : 0];
        if (e.kind == MS_EVENT_MARK && m->begin && m->step == step)
            return i;
    }
    fail_msg("there is no step %u", step);
    return 0;
}

static bool is_allocator_event(ms_event e)
{
    return e.kind == MS_EVENT_ALLOC || e.kind == MS_EVENT_FREE || e.kind == MS_EVENT_RECORD;
}

/* The next event for the allocator from `i` on. */
static uint32_t next_event(const ms_trace *trace, uint32_t i)
{
    while (i < trace->events.count && !is_allocator_event(trace->events.items[i]))
        i++;
    return i;
}

static const ms_storage *storage_of(const ms_trace *trace, ms_event e)
{
    bool is_use = e.kind == MS_EVENT_RECORD;
    return &trace->storages.items[is_use ? trace->uses.items[e.id].storage : e.id];
}

static void holds_its_part(void **state)
{
    const rank_case *c = *state;
    ms_simulation s;
    simulate(c, "1", &s);
    if (c->weights)
        assert_int_equal(s.weight_bytes, c->weights);
    if (c->states)
        assert_int_equal(s.optimizer_state_bytes, c->states);
    ms_simulation_free(&s);
}

static void steps_repeat(void **state)
{
    ms_simulation s;
    if (((const rank_case *)*state)->gathered == 0)
        skip(); /* DDP makes new buckets in the second step */
    simulate(*state, "3", &s);
    uint32_t a = step_begin(&s.trace, 2), b = step_begin(&s.trace, 3), end = s.trace.events.count;
    for (uint32_t i = next_event(&s.trace, a), k = next_event(&s.trace, b); k < end;
         i = next_event(&s.trace, i + 1), k = next_event(&s.trace, k + 1)) {
        const ms_event x = s.trace.events.items[i], y = s.trace.events.items[k];
        assert_int_equal(x.kind, y.kind);
        assert_int_equal(storage_of(&s.trace, x)->bytes, storage_of(&s.trace, y)->bytes);
        assert_int_equal(storage_of(&s.trace, x)->stream, storage_of(&s.trace, y)->stream);
    }
    ms_simulation_free(&s);
}

/* Layers with weights that were made in the third step, at most. */
static void gathers_few_layers(void **state)
{
    const rank_case *c = *state;
    ms_simulation s;
    simulate(c, "1", &s);
    uint64_t bytes[LAYERS] = {0};
    uint32_t most = 0, begin = step_begin(&s.trace, 3);
    for (uint32_t i = begin; i < s.trace.events.count; i++) {
        const ms_event e = s.trace.events.items[i];
        if (e.kind != MS_EVENT_ALLOC && e.kind != MS_EVENT_FREE)
            continue;
        const ms_storage *storage = storage_of(&s.trace, e);
        uint32_t layer =
            storage->scope == MS_NONE ? MS_NONE : s.trace.scopes.items[storage->scope].layer;
        if (layer == MS_NONE || storage->category != MS_CATEGORY_WEIGHT)
            continue;
        bytes[layer] += e.kind == MS_EVENT_ALLOC ? storage->bytes : -storage->bytes;
        uint32_t count = 0;
        for (uint32_t k = 0; k < LAYERS; k++)
            count += bytes[k] > 0;
        most = count > most ? count : most;
    }
    assert_int_equal(most, c->gathered);
    for (uint32_t k = 0; k < LAYERS; k++)
        assert_int_equal(bytes[k], 0);
    ms_simulation_free(&s);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(cases)];
    int failed = 0;
    ADD_ROWS(tests, holds_its_part, cases);
    failed |= cmocka_run_group_tests_name("what a rank holds", tests, NULL, NULL);
    ADD_ROWS(tests, steps_repeat, cases);
    failed |= cmocka_run_group_tests_name("steps repeat", tests, NULL, NULL);
    ADD_ROWS(tests, gathers_few_layers, cases);
    failed |= cmocka_run_group_tests_name("gathered layers", tests, NULL, NULL);
    return failed;
}
