/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The cost model's sums against the step itself: a mix of treatments counted from its parts has the
 * peak and the time of the simulated step.
 */
#include "input/config/treatment/treatment.h"
#include "decide/plan/costs/measure.h"
#include "decide/plan/costs/cost_model.h"
#include "decide/plan/costs/option_list.h"

#include <stdlib.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "run/step/step.h"
#include "unit/fixtures.h"

typedef struct stack_case {
    const char *label;
    ms_run_setting settings[8];
} stack_case;

static const stack_case cases[] = {
    {"llama", {{"config", "llama-3.2-1b"}, {"batch", "2"}, {"seq", "512"}}},
    {"gpt2, accumulated and clipped",
     {{"config", "gpt2"}, {"batch", "2"}, {"seq", "256"}, {"accumulate", "3"}, {"clip", "1"}}},
    {"qwen3, autocast",
     {{"config", "qwen3-0.6b"}, {"dtype", "fp32"}, {"autocast", "bf16"}, {"seq", "300"}}},
    {"llama, the optimizer in backward",
     {{"config", "llama-3.2-1b"},
      {"batch", "2"},
      {"seq", "512"},
      {"optimizer-in-backward", "yes"}}},
    {"gpt2, the optimizer in backward, foreach",
     {{"config", "gpt2"},
      {"batch", "2"},
      {"seq", "256"},
      {"optimizer-impl", "foreach"},
      {"optimizer-in-backward", "yes"}}},
    {"gpt_neox", {{"config", "pythia-160m"}, {"seq", "300"}}},
    {"llama, parameters on the host",
     {{"config", "llama-3.2-1b"},
      {"batch", "2"},
      {"seq", "256"},
      {"optimizer-device", "host"},
      {"parameter-device", "host"}}},
    {"gpt2, parameters on the host, accumulated",
     {{"config", "gpt2"},
      {"batch", "2"},
      {"seq", "256"},
      {"accumulate", "3"},
      {"optimizer-device", "host"},
      {"parameter-device", "host"}}},
    {"gpt2, eager", {{"config", "gpt2"}, {"attention", "eager"}, {"seq", "200"}}},
    {"mistral, eager", {{"config", "mistral-7b-v0.1"}, {"attention", "eager"}, {"seq", "200"}}},
    {"mistral, math, a window",
     {{"config", "mistral-7b-v0.1"}, {"attention", "math"}, {"seq", "4200"}}},
    {"llama, eager, long", {{"config", "llama-3.2-1b"}, {"attention", "eager"}, {"seq", "1600"}}},
    {"gpt2, math, autocast",
     {{"config", "gpt2"},
      {"attention", "math"},
      {"dtype", "fp32"},
      {"autocast", "bf16"},
      {"batch", "2"},
      {"seq", "700"}}},
    {"llama, fsdp",
     {{"config", "llama-3.2-1b"},
      {"seq", "512"},
      {"dtype", "fp32"},
      {"param-dtype", "bf16"},
      {"reduce-dtype", "fp32"},
      {"parallel", "fsdp=8"}}},
    {"llama, fsdp, layers stay gathered, accumulated without reducing",
     {{"config", "llama-3.2-1b"},
      {"seq", "256"},
      {"accumulate", "5"},
      {"no-sync", "yes"},
      {"reshard-after-forward", "no"},
      {"parallel", "fsdp=8"}}},
    {"qwen3, hsdp with sums apart",
     {{"config", "qwen3-0.6b"},
      {"seq", "512"},
      {"dtype", "fp32"},
      {"param-dtype", "bf16"},
      {"reduce-dtype", "fp32"},
      {"accumulate", "2"},
      {"no-all-reduce", "yes"},
      {"parallel", "hsdp=2x4"}}},
    {"llama, fsdp1",
     {{"config", "llama-3.2-1b"}, {"seq", "512"}, {"accumulate", "2"}, {"parallel", "fsdp1=8"}}},
    {"gpt2, fsdp1, gathered ahead",
     {{"config", "gpt2"},
      {"seq", "512"},
      {"forward-prefetch", "yes"},
      {"backward-prefetch", "post"},
      {"parallel", "fsdp1=8"}}},
    {"gpt2, dp",
     {{"config", "gpt2"},
      {"seq", "256"},
      {"accumulate", "3"},
      {"no-sync", "yes"},
      {"parallel", "dp=8"}}},
    {"llama, tp",
     {{"config", "llama-3.1-8b"}, {"batch", "2"}, {"seq", "256"}, {"parallel", "tp=4"}}},
    {"llama, tp and fsdp",
     {{"config", "llama-3.1-8b"},
      {"seq", "256"},
      {"sequence-parallel", "yes"},
      {"parallel", "tp=2,fsdp=4"}}},
    {"llama, cp", {{"config", "llama-3.2-1b"}, {"seq", "1024"}, {"parallel", "cp=2,fsdp=2"}}},
    {"llama, zero 1", {{"config", "llama-3.2-1b"}, {"seq", "256"}, {"parallel", "zero=1,dp=4"}}},
    {"llama, zero 2, buckets across layers",
     {{"config", "llama-3.2-1b"},
      {"seq", "256"},
      {"accumulate", "2"},
      {"reduce-bucket-size", "100000000"},
      {"parallel", "zero=2,dp=4"}}},
};

enum { MIXES = 12 };

static uint64_t simulated_peak(const ms_model_config *model, const ms_run_config *run, double *ms)
{
    ms_error err = {0};
    ms_simulation simulation;
    ms_profile profile;
    assert_int_equal(ms_step_simulate(model, run, MS_STEPS_TIMED, &simulation, &err), MS_OK);
    assert_int_equal(
        ms_profile_build(&simulation.trace, run->device, run->allocator.kind, &profile, &err),
        MS_OK);
    uint64_t peak = 0;
    for (uint32_t i = 0; i < profile.spans.count; i++)
        if (profile.spans.items[i].peak_bytes > peak)
            peak = profile.spans.items[i].peak_bytes;
    *ms = profile.time.step_ms;
    ms_profile_free(&profile);
    ms_simulation_free(&simulation);
    return peak;
}

/* Peak and time; what a layer's neighbours do matters as well. */
static void check_choice(ms_arena *arena, const ms_model_config *model, const ms_run_config *run,
                         const ms_cost_model *costs, const ms_assignment *assignment)
{
    ms_error err = {0};
    ms_run_config treated = *run;
    assert_int_equal(ms_assignment_treatments(arena, costs, assignment, &treated.treatments, &err),
                     MS_OK);
    double ms;
    uint64_t peak = simulated_peak(model, &treated, &ms);
    ms_cost_sum sum = ms_assignment_sum(costs, assignment);
    if (sum.peak_bytes != peak)
        print_message("%s\n", ms_treatments_text(&treated.treatments, costs->layer_count, arena));
    assert_int_equal(sum.peak_bytes, peak);
    assert_int_equal(costs->has_exact_waits, run->parameter_device == MS_PARAMETERS_ON_DEVICE);
    if (!costs->has_exact_waits)
        return;
    if (sum.step_ms < ms * (1 - 1e-9) || sum.step_ms > ms * (1 + 1e-9))
        fail_msg("%s: %.9f ms, simulated %.9f ms",
                 ms_treatments_text(&treated.treatments, costs->layer_count, arena), sum.step_ms,
                 ms);
}

/* Both among equals, side by side, and in turn. */
/* Every CHECK_EVERY-th option stands beside another. */
static void pairs_add_up(ms_arena *arena, const ms_model_config *model, const ms_run_config *run,
                         const ms_cost_model *costs)
{
    uint32_t *options = ms_arena_array(arena, uint32_t, costs->layer_count);
    uint32_t apart = check_every();
    for (uint32_t a = 0; a < costs->option_count; a++)
        for (uint32_t b = a % apart; b < costs->option_count; b += apart) {
            for (uint32_t i = 0; i < costs->layer_count; i++)
                options[i] = i < 4 ? a : i < 8 ? b : i % 2 ? a : b;
            const ms_assignment assignment = {options, (a + b) % costs->loss_count};
            check_choice(arena, model, run, costs, &assignment);
        }
}

static void mixes_add_up(void **state)
{
    const stack_case *c = *state;
    ms_arena *arena = ms_arena_create(0);
    ms_model_config model;
    ms_run_config run;
    ms_error err = {0};
    load_run(arena, c->settings, COUNT_OF(c->settings), &model, &run);
    ms_cost_model costs;
    assert_int_equal(
        ms_cost_model_measure(arena, &model, &run, ms_plan_techniques(&run), &costs, &err), MS_OK);
    uint32_t *options = ms_arena_array(arena, uint32_t, costs.layer_count);
    pairs_add_up(arena, &model, &run, &costs);
    srand(7);
    for (uint32_t mix = 0; mix < MIXES; mix++) {
        ms_assignment assignment = {options, (uint32_t)rand() % costs.loss_count};
        uint32_t some = 1 + (uint32_t)rand() % costs.option_count;
        for (uint32_t i = 0; i < costs.layer_count; i++)
            options[i] = mix < costs.option_count && mix < 3 ? mix : (uint32_t)rand() % some;
        check_choice(arena, &model, &run, &costs, &assignment);
    }
    ms_arena_free(arena);
}

int main(void)
{
    return run_rows("mixes of treatments", mixes_add_up, cases);
}
