/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Suggestions compared with brute force: of a run that does not fit, every pair of candidates (of
 * some runs every triple as well) is simulated in full. Where one of these fits, so does a
 * suggestion that costs no more; it has at most one candidate more than the smallest of them, or
 * needs at most 2 % of the device more. Where none fits, a suggestion needs as little, to 2 % of
 * the device. ADVISE_ALL=1 tries all rows with triples, which takes minutes.
 */
#include "decide/advise/advise.h"

#include <stdlib.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "unit/fixtures.h"

typedef struct run_case {
    const char *label;
    bool is_quick;               /* tried in any case, by pairs */
    ms_run_setting settings[10]; /* ends where a field is NULL */
} run_case;

typedef struct scene {
    const run_case *row;
    ms_arena *arena;
    ms_model_config model;
    ms_run_config run;
    ms_job job;
    ms_simulated base;
    ms_suggestions list;
    ms_trials trials; /* of brute force */
    ms_candidate_set applicable;
    uint32_t most; /* candidates at once */
} scene;

/* The best of those that cost at most so much. */
typedef struct best {
    bool fits;
    uint32_t count; /* candidates, of the smallest that fits */
    uint64_t
        fewest_bytes;     /* that it needs: of brute force reserved, of suggestions on the device */
    uint64_t least_bytes; /* on the device, of what needs least */
    ms_candidate_set set;
} best;

/* ---- brute force ---- */

static bool excludes(ms_candidate_set set)
{
    for (uint32_t i = 0; set >> i; i++)
        for (uint32_t k = 0; k < i; k++)
            if ((set >> i & 1) && (set >> k & 1) &&
                ms_candidates_exclude(ms_candidate_at(i), ms_candidate_at(k)))
                return true;
    return false;
}

static void add_sets(scene *s, ms_candidate_set set, uint32_t from, uint32_t left)
{
    ms_error err = {0};
    s->trials.err = &err;
    for (uint32_t i = from; ms_candidate_at(i) && left; i++) {
        const ms_candidate_set more = set | (ms_candidate_set)1 << i;
        if (!(s->applicable >> i & 1) || excludes(more))
            continue;
        assert_int_equal(ms_trials_run(&s->trials, &more, 1), MS_OK);
        add_sets(s, more, i + 1, left - 1);
    }
}

static best best_of_trials(const scene *s, ms_advice_cost most_cost)
{
    best b = {.fits = false};
    for (uint32_t i = 0; i < s->trials.known.count; i++) {
        const ms_trial *t = &s->trials.known.items[i];
        const uint32_t count = ms_combination_count(t->set);
        if (t->is_refused || ms_combination_cost(t->set) > most_cost)
            continue;
        bool fits = ms_reason_fits(t->reason);
        if (fits && (!b.fits || count < b.count ||
                     (count == b.count && t->wanted_bytes < b.fewest_bytes))) {
            b.count = count;
            b.fewest_bytes = t->wanted_bytes;
            b.set = t->set;
        }
        b.fits |= fits;
    }
    return b;
}

/* Of runs that do not fit a trial knows the first step alone: here each is simulated to its end. */
static best least_of_trials(const scene *s)
{
    best b = {.least_bytes = UINT64_MAX};
    for (uint32_t i = 0; i < s->trials.known.count; i++) {
        const ms_suggestion g = {.found.set = s->trials.known.items[i].set};
        ms_error err = {0};
        ms_variation v;
        ms_simulated simulated;
        if (s->trials.known.items[i].is_refused)
            continue;
        assert_int_equal(ms_suggestion_apply(&s->job, &g, s->arena, &v, &err), MS_OK);
        const ms_job job = ms_variation_job(&v);
        assert_int_equal(ms_simulate(&job, MS_SIMULATE_USAGE, &simulated, &err), MS_OK);
        if (simulated.judgement.device_bytes.expected < b.least_bytes) {
            b.least_bytes = simulated.judgement.device_bytes.expected;
            b.set = g.found.set;
        }
        ms_simulated_free(&simulated);
    }
    return b;
}

static best best_of_list(const scene *s, ms_advice_cost most_cost)
{
    best b = {.least_bytes = UINT64_MAX};
    for (uint32_t i = 0; i < s->list.count; i++) {
        const ms_suggestion *g = &s->list.items[i];
        if (g->cost > most_cost)
            continue;
        if (g->device_bytes < b.least_bytes)
            b.least_bytes = g->device_bytes;
        if (ms_reason_fits(g->reason) && (!b.fits || g->count < b.count)) {
            b.fits = true;
            b.count = g->count;
            b.fewest_bytes = g->device_bytes;
            b.set = g->found.set;
        }
    }
    return b;
}

static uint64_t device_bytes(const scene *s, uint64_t reserved_bytes)
{
    return ms_budget_device_bytes(s->run.device, reserved_bytes).expected;
}

static void complain(const scene *s, const best *brute, const best *list, ms_advice_cost cost)
{
    fail_msg(
        "%s, cost %s: brute force %s (%u, %.2f GiB; least %.2f), suggestions %s (%u, %.2f GiB; "
        "least %.2f)",
        s->row->label, ms_advice_cost_names[cost], ms_combination_title(brute->set, s->arena),
        brute->count, (double)device_bytes(s, brute->fewest_bytes) / 0x1p30,
        (double)brute->least_bytes / 0x1p30, ms_combination_title(list->set, s->arena), list->count,
        (double)list->fewest_bytes / 0x1p30, (double)list->least_bytes / 0x1p30);
}

/* ---- the checks ---- */

static void begin(scene *s, const run_case *row)
{
    ms_error err = {0};
    const bool is_all = getenv("ADVISE_ALL") != NULL;
    *s = (scene){.row = row, .arena = ms_arena_create(0), .most = is_all ? 3 : 2};
    load_run(s->arena, row->settings, COUNT_OF(row->settings), &s->model, &s->run);
    s->job = (ms_job){.model = &s->model, .run = &s->run};
    assert_int_equal(ms_simulate(&s->job, MS_SIMULATE_SUMMARY, &s->base, &err), MS_OK);
    assert_int_equal(s->base.summary.verdict, MS_VERDICT_NO);
    const ms_advised advised = {&s->job, &s->base.summary, 0, {0}};
    assert_int_equal(ms_advise(&advised, s->arena, &s->list, &err), MS_OK);
    s->trials = (ms_trials){.job = &s->job, .is_exact = true, .err = &err};
    assert_int_equal(ms_trials_candidates(&s->trials, UINT32_MAX, &s->applicable), MS_OK);
}

static void end(scene *s)
{
    ms_trials_free(&s->trials);
    ms_vec_free(&s->list);
    ms_simulated_free(&s->base);
    ms_arena_free(s->arena);
}

/* What is found at the lowest cost at which anything fits. */
static void check_cost(const scene *s)
{
    const uint64_t margin = ms_device_usable_bytes(s->run.device) / 50;
    for (int cost = MS_COST_FREE; cost <= MS_COST_RESULT; cost++) {
        const best brute = best_of_trials(s, (ms_advice_cost)cost);
        const best list = best_of_list(s, (ms_advice_cost)cost);
        if (!brute.fits)
            continue;
        bool is_as_small = list.count <= brute.count + 1 ||
                           list.fewest_bytes <= device_bytes(s, brute.fewest_bytes) + margin;
        if (!list.fits || !is_as_small)
            complain(s, &brute, &list, (ms_advice_cost)cost);
        return;
    }
    const best brute = least_of_trials(s), list = best_of_list(s, MS_COST_RESULT);
    if (!list.fits && list.least_bytes > brute.least_bytes + margin)
        complain(s, &brute, &list, MS_COST_RESULT);
}

/* What changes nothing, and what is worth less than a hundredth, is not there; nor is a suggestion
 * that contains another one that is as good. */
static void check_list(const scene *s)
{
    const uint64_t before = s->base.summary.expected_device_bytes;
    for (uint32_t i = 0; i < s->list.count; i++) {
        const ms_suggestion *g = &s->list.items[i];
        if (g->found.device)
            continue;
        assert_true(before - g->device_bytes >= before / 100);
        for (uint32_t k = 0; k < s->list.count; k++) {
            const ms_suggestion *other = &s->list.items[k];
            bool contains =
                k != i && !other->found.device && (other->found.set & ~g->found.set) == 0;
            if (contains && ms_reason_fits(g->reason))
                assert_true(ms_reason_verdict(other->reason) < ms_reason_verdict(g->reason));
        }
    }
}

static void check(void **state)
{
    const run_case *row = *state;
    scene s;
    if (!row->is_quick && !getenv("ADVISE_ALL"))
        skip();
    begin(&s, row);
    add_sets(&s, 0, 0, s.most);
    check_list(&s);
    check_cost(&s);
    end(&s);
}

/* ---- rows ---- */

#define RUN(model, device, ...)                                                                    \
    {                                                                                              \
        {"config", model}, {"device", device}, __VA_ARGS__                                         \
    }
#define SEQ(n)                                                                                     \
    {                                                                                              \
        "seq", n                                                                                   \
    }
#define BATCH(n)                                                                                   \
    {                                                                                              \
        "batch", n                                                                                 \
    }

static const run_case rows[] = {
    {"1b, 16 GiB", true, RUN("llama-3.2-1b", "t4", SEQ("4096"))},
    {"1b in 8 GiB", true, RUN("llama-3.2-1b", "rtx-4090", SEQ("2048"), {"budget", "8GiB"})},
    {"0.5b, large vocabulary", true, RUN("qwen2.5-0.5b", "rtx-4090", SEQ("4096"), BATCH("16"))},
    {"gpt2 in fp32", true,
     RUN("gpt2", "t4", SEQ("1024"), BATCH("32"), {"dtype", "fp32"}, {"autocast", "none"})},
    {"0.5b in hopelessly little", true, RUN("qwen2.5-0.5b", "t4", SEQ("512"), {"budget", "1GiB"})},
    {"8b, full, 24 GB", false, RUN("llama-3.1-8b", "rtx-4090", SEQ("4096"))},
    {"8b, full, 24 GB, short", false, RUN("llama-3.1-8b", "rtx-4090", SEQ("1024"))},
    {"8b, full, 40 GB", false, RUN("llama-3.1-8b", "a100-40gb", SEQ("4096"))},
    {"8b, full, 80 GB, batch 4", false, RUN("llama-3.1-8b", "a100-80gb", SEQ("4096"), BATCH("4"))},
    {"8b, checkpointed, 48 GB", false,
     RUN("llama-3.1-8b", "l40s", SEQ("8192"), {"checkpointing", "all"})},
    {"8b, lora, 24 GB", false, RUN("llama-3.1-8b", "rtx-4090", SEQ("4096"), {"lora", "r=16"})},
    {"8b, qlora, 16 GB", false,
     RUN("llama-3.1-8b", "t4", SEQ("2048"), {"lora", "r=16"}, {"quantize", "nf4:double"},
         {"dtype", "fp16"})},
    {"8b, long", false, RUN("llama-3.1-8b", "h100-80gb", SEQ("32768"), {"checkpointing", "all"})},
    {"14b, lora, 40 GB", false,
     RUN("qwen2.5-14b", "a100-40gb", SEQ("8192"), {"lora", "r=16"}, {"checkpointing", "all"})},
    {"14b, lora, nothing else", false,
     RUN("qwen2.5-14b", "a100-40gb", SEQ("8192"), {"lora", "r=16"})},
    {"14b, full", false, RUN("qwen2.5-14b", "a100-80gb", SEQ("2048"))},
    {"7b, batch 8", false, RUN("mistral-7b-v0.3", "a100-80gb", SEQ("2048"), BATCH("8"))},
    {"7b in fp32", false, RUN("mistral-7b-v0.3", "a100-80gb", SEQ("2048"), {"dtype", "fp32"})},
    {"7b under autocast", false,
     RUN("llama-2-7b", "h100-80gb", SEQ("4096"), {"dtype", "fp32"}, {"autocast", "bf16"})},
    {"7b, math attention", false,
     RUN("llama-2-7b", "a100-80gb", SEQ("4096"), {"attention", "math"})},
    {"gemma, 256k words", false, RUN("gemma-2-2b", "rtx-4090", SEQ("4096"))},
    {"gemma, batch 4", false, RUN("gemma-2b", "a100-40gb", SEQ("4096"), BATCH("4"))},
    {"falcon, no kernels of Liger", false, RUN("falcon-7b", "a100-40gb", SEQ("2048"))},
    {"pythia, batch 16", false, RUN("pythia-1b", "rtx-4090", SEQ("2048"), BATCH("16"))},
    {"opt, batch 32", false, RUN("opt-1.3b", "rtx-3090", SEQ("1024"), BATCH("32"))},
    {"3b, 24 GB", false, RUN("llama-3.2-3b", "rtx-3090", SEQ("4096"), BATCH("2"))},
    {"3b, accumulated", false,
     RUN("llama-3.2-3b", "rtx-4090", SEQ("4096"), BATCH("4"), {"accumulate", "4"})},
    {"3b, clipped", false, RUN("llama-3.2-3b", "rtx-4090", SEQ("4096"), {"clip", "1"})},
    {"mixture, 7b", false, RUN("olmoe-1b-7b", "rtx-5090", SEQ("4096"))},
    {"0.5b, batch 64", false, RUN("qwen2.5-0.5b", "a100-80gb", SEQ("4096"), BATCH("64"))},
    {"gpt2-xl, foreach", false,
     RUN("gpt2-xl", "rtx-4090", SEQ("1024"), BATCH("8"), {"optimizer-impl", "foreach"})},
    {"1.3b, 8-bit states already", false,
     RUN("opt-1.3b", "t4", SEQ("2048"), BATCH("4"), {"optimizer", "adamw-8bit"})},
};

int main(void)
{
    return run_rows("suggestions against brute force", check, rows);
}
