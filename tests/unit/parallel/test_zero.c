/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * DeepSpeed ZeRO: what a rank keeps, as formulas; a steady step frees what it allocates; layouts
 * and settings that are refused.
 */
#include "run/step/step.h"

#include <string.h>

#include "input/config/model/model_config.h"
#include "unit/fixtures.h"

enum { MOST_SETTINGS = 8, RANKS = 8, BUCKET = 1000000 };

typedef struct zero_case {
    const char *label;
    ms_run_setting settings[MOST_SETTINGS];
    uint32_t stage;
    bool is_on_host, is_wide;
} zero_case;

#define COMMON                                                                                     \
    {"config", "smollm2-135m"}, {"seq", "128"},                                                    \
    {                                                                                              \
        "reduce-bucket-size", "1000000"                                                            \
    }

static const zero_case cases[] = {
    {"stage 1", {COMMON, {"parallel", "zero=1,dp=8"}}, 1, false, false},
    {"stage 1, overlapped",
     {COMMON, {"parallel", "zero=1,dp=8"}, {"overlap-comm", "yes"}, {"rank", "7"}},
     1,
     false,
     false},
    {"stage 2", {COMMON, {"parallel", "zero=2,dp=8"}}, 2, false, false},
    {"stage 2, micro-steps",
     {COMMON, {"parallel", "dp=8,zero=2"}, {"accumulate", "3"}},
     2,
     false,
     false},
    {"stage 2, scattered gradients",
     {COMMON, {"parallel", "zero=2,dp=8"}, {"contiguous-gradients", "no"}},
     2,
     false,
     false},
    {"stage 2, sums in fp32",
     {COMMON,
      {"parallel", "zero=2,dp=8"},
      {"grad-accumulation-dtype", "fp32"},
      {"accumulate", "2"},
      {"rank", "3"}},
     2,
     false,
     true},
    {"stage 3, sums in fp32",
     {COMMON, {"parallel", "zero=3,dp=8"}, {"grad-accumulation-dtype", "fp32"}},
     3,
     false,
     true},
    {"stage 2 on the host",
     {COMMON, {"parallel", "zero=2,dp=8"}, {"optimizer-device", "host"}},
     2,
     true,
     false},
    {"stage 3", {COMMON, {"parallel", "zero=3,dp=8"}}, 3, false, false},
    {"stage 3, checkpoints",
     {COMMON,
      {"parallel", "zero=3,dp=8"},
      {"checkpointing", "all"},
      {"stage3-max-reuse-distance", "0"}},
     3,
     false,
     false},
    {"stage 3, one stream",
     {COMMON, {"parallel", "zero=3,dp=8"}, {"overlap-comm", "no"}},
     3,
     false,
     false},
    {"stage 3 on the host",
     {COMMON, {"parallel", "zero=3,dp=8"}, {"optimizer-device", "host"}},
     3,
     true,
     false},
    {"stage 1, groups",
     {COMMON, {"parallel", "zero=1,dp=8"}, {"decay-groups", "yes"}},
     1,
     false,
     false},
    {"stage 2, groups with sums in fp32",
     {COMMON,
      {"parallel", "zero=2,dp=8"},
      {"decay-groups", "yes"},
      {"grad-accumulation-dtype", "fp32"},
      {"accumulate", "2"},
      {"rank", "7"}},
     2,
     false,
     true},
    {"stage 3, groups",
     {COMMON, {"parallel", "zero=3,dp=8"}, {"decay-groups", "yes"}},
     3,
     false,
     false},
    {"stage 3, all on the host",
     {COMMON, {"parallel", "zero=3,dp=8"}, {"optimizer-device", "host"}, {"offload-param", "yes"}},
     3,
     true,
     false},
};

static void simulate(const zero_case *c, ms_arena *arena, ms_simulation *simulation)
{
    ms_model_config model;
    ms_run_config run;
    ms_error err = {0};
    load_run_on("a100-80gb", arena, c->settings, MOST_SETTINGS, &model, &run);
    if (ms_step_simulate(&model, &run, MS_STEPS_ALL, simulation, &err) != MS_OK)
        fail_msg("%s: %s", c->label, err.text);
}

/* The optimizer counts the steps of each. */
static uint64_t group_count(const zero_case *c)
{
    for (size_t i = 0; i < MOST_SETTINGS && c->settings[i].field; i++)
        if (strcmp(c->settings[i].field, "decay-groups") == 0)
            return 2;
    return 1;
}

/* Every number of elements of this model is a multiple of the ranks, but not of twice them. */
static void test_kept(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const zero_case *c = &cases[i];
        ms_arena *arena = ms_arena_create(0);
        ms_simulation s;
        simulate(c, arena, &s);
        uint64_t all = s.trainable_param_count, part = all / RANKS;
        uint64_t gradients = (c->is_wide ? 4 : 2) * (c->stage == 1 ? all : part);
        uint64_t states = c->is_on_host ? 0 : 8 * part + 4 * group_count(c);
        assert_int_equal(s.optimizer_state_bytes, states);
        assert_int_equal(s.gradient_bytes, c->is_on_host ? 0 : gradients);
        if (c->stage < 3)
            assert_int_equal(s.weight_bytes, 2 * all + (c->is_on_host ? 0 : 4 * part));
        ms_simulation_free(&s);
        ms_arena_free(arena);
    }
}

/* What is alive where a mark of the last step stands. */
static int64_t live_at(const ms_trace *trace, ms_phase phase, bool begin)
{
    int64_t live = 0, found = -1;
    for (uint32_t i = 0; i < trace->events.count; i++) {
        const ms_event *event = &trace->events.items[i];
        if (event->kind == MS_EVENT_ALLOC)
            live += (int64_t)trace->storages.items[event->id].bytes;
        if (event->kind == MS_EVENT_FREE)
            live -= (int64_t)trace->storages.items[event->id].bytes;
        if (event->kind != MS_EVENT_MARK)
            continue;
        const ms_mark *mark = &trace->marks.items[event->id];
        bool is_wanted = mark->step == 3 && mark->phase == phase && mark->begin == begin;
        if (is_wanted && (found < 0 || !begin))
            found = live;
    }
    return found;
}

static void test_balance(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ms_arena *arena = ms_arena_create(0);
        ms_simulation s;
        simulate(&cases[i], arena, &s);
        int64_t before = live_at(&s.trace, MS_PHASE_FORWARD, true);
        int64_t after = live_at(&s.trace, MS_PHASE_ZERO_GRAD, false);
        if (before != after || before <= 0)
            fail_msg("%s: %lld, then %lld", cases[i].label, (long long)before, (long long)after);
        ms_simulation_free(&s);
        ms_arena_free(arena);
    }
}

/* ---- groups ---- */

/* Elements of the parameters without weight decay: of Trainer.get_decay_parameter_names. */
static const struct {
    const char *config, *lora;
    uint64_t elements;
} exempt[] = {
    {"gpt2", "none", 121344}, /* biases, and weights of LayerNorm whose names do not tell */
    {"smollm2-135m", "none", 35136},
    {"qwen2.5-0.5b", "none", 71552}, /* biases of attention too */
    {"qwen3-0.6b", "none", 65536},   /* norms of heads too */
    {"qwen3-0.6b", "r=8,targets=q_proj", 0},
};

static void test_exempt(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof exempt / sizeof *exempt; i++) {
        const zero_case c = {.label = exempt[i].config,
                             .settings = {{"config", exempt[i].config},
                                          {"seq", "16"},
                                          {"parallel", "zero=1,dp=2"},
                                          {"lora", exempt[i].lora},
                                          {"decay-groups", "yes"}}};
        ms_arena *arena = ms_arena_create(0);
        ms_simulation s;
        uint64_t flat[2] = {0};
        uint32_t count = 0;
        simulate(&c, arena, &s);
        for (uint32_t k = 0; k < s.trace.storages.count; k++) {
            const ms_storage *storage = &s.trace.storages.items[k];
            if (strcmp(s.trace.names.items[storage->name], "flat parameters") == 0 && count < 2)
                flat[count++] = storage->bytes / 2;
        }
        assert_int_equal(count, exempt[i].elements ? 2 : 1);
        assert_int_equal(flat[1], exempt[i].elements);
        assert_int_equal(flat[0] + flat[1], s.trainable_param_count);
        ms_simulation_free(&s);
        ms_arena_free(arena);
    }
}

/* ---- refusals ---- */

typedef struct refusal {
    ms_run_setting settings[MOST_SETTINGS];
    const char *words;
} refusal;

static const refusal refusals[] = {
    {{COMMON, {"parallel", "zero=4,dp=8"}}, "expected zero=STAGE,dp=N"},
    {{COMMON, {"parallel", "zero=2"}}, "expected zero=STAGE,dp=N"},
    {{COMMON, {"parallel", "zero=2,dp=8,dp=8"}}, "expected zero=STAGE,dp=N"},
    {{COMMON, {"parallel", "dp=8"}}, "an option of zero=STAGE,dp=N"},
    {{COMMON, {"parallel", "zero=2,dp=8"}, {"rank", "8"}}, "the ranks are 0 to 7"},
    {{COMMON, {"parallel", "zero=2,dp=8"}, {"no-sync", "yes"}}, "with no-sync"},
    {{COMMON, {"parallel", "zero=2,dp=8"}, {"autocast", "bf16"}}, "with autocast"},
    {{COMMON, {"parallel", "zero=2,dp=8"}, {"overlap-comm", "yes"}, {"contiguous-gradients", "no"}},
     "without contiguous-gradients"},
    {{COMMON, {"parallel", "zero=3,dp=8"}, {"offload-param", "yes"}}, "an optimizer on the device"},
    {{COMMON, {"parallel", "zero=1,dp=8"}, {"grad-accumulation-dtype", "fp32"}},
     "another optimizer"},
    {{COMMON, {"parallel", "zero=2,dp=8"}, {"dtype", "fp32"}}, "with weights in fp32"},
    {{COMMON, {"parallel", "zero=3,dp=1"}, {"optimizer-device", "host"}}, "for one rank"},
    {{{"config", "gpt2"}, {"parallel", "zero=3,dp=8"}}, "models of this type"},
    {{{"config", "gpt2"}, {"parallel", "dp=8"}, {"decay-groups", "yes"}},
     "an option of zero=STAGE,dp=N"},
    {{COMMON, {"parallel", "zero=3,dp=8"}, {"lora", "r=8,targets=all-linear"}}, "with an adapter"},
    {{COMMON, {"parallel", "zero=3,dp=8"}, {"liger", "all"}}, "with Liger kernels"},
};

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        ms_arena *arena = ms_arena_create(0);
        ms_model_config model;
        ms_run_config run;
        ms_notes notes = {0};
        ms_error err = {0};
        size_t count = 0;
        while (count < MOST_SETTINGS && refusals[i].settings[count].field)
            count++;
        ms_status status =
            ms_run_load(arena, refusals[i].settings, count, &model, &run, &notes, &err);
        assert_int_not_equal(status, MS_OK);
        if (!strstr(err.text, refusals[i].words))
            fail_msg("'%s' lacks '%s'", err.text, refusals[i].words);
        ms_arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_balance),
        cmocka_unit_test(test_exempt),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
