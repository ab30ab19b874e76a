/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What records say is alive at the peak, compared with the peak's categories in 500 runs: nothing
 * is counted that is not there, nothing twice, nothing is left out.
 */
#include "api/analysis.h"

#include "unit/support.h"

enum { RUNS = 500, MOST_REFUSED = 200, FIELDS = 8 };

/* Scalars that the framework makes by itself. */
enum { MOST_LEFT_BYTES = 1 << 20 };

/* Of each list one value, by a generator that gives the same everywhere; NULL: nothing is said. */
static const char *const configs[] = {
    "gpt2",     "smollm2-135m", "pythia-160m",       "qwen2.5-0.5b", "qwen3-0.6b",
    "opt-125m", "gpt2-medium",  "bert-base-uncased", "llama-3.2-1b", "gemma-3-1b"};
static const char *const batches[] = {"1", "2", "3", "4"};
static const char *const lengths[] = {"32", "64", "77", "128", "256"};
static const char *const treatments[] = {NULL,
                                         NULL,
                                         "all=checkpoint",
                                         "0-3=checkpoint",
                                         "every:2=checkpoint",
                                         "0-5=offload:0.5",
                                         "all=checkpoint-mlp",
                                         "all=selective:0.5",
                                         "all=checkpoint+offload",
                                         "loss=chunk:4",
                                         "0-2=tile:4",
                                         "every:3=checkpoint,loss=chunk:2"};
static const char *const optimizers[] = {"adamw", "sgd",        "sgd-momentum", "adafactor",
                                         "lion",  "adamw-8bit", "muon",         "adam"};
static const char *const accumulations[] = {NULL, NULL, "2", "3"};
static const char *const implementations[] = {NULL, NULL, "foreach", "loop"};
static const char *const adapters[] = {NULL, NULL, NULL, "r=8,targets=all-linear"};

typedef struct choice {
    const char *field;
    const char *const *values;
    size_t count;
} choice;

static const choice choices[FIELDS] = {
    {"config", configs, COUNT_OF(configs)},
    {"batch", batches, COUNT_OF(batches)},
    {"seq", lengths, COUNT_OF(lengths)},
    {"treat", treatments, COUNT_OF(treatments)},
    {"optimizer", optimizers, COUNT_OF(optimizers)},
    {"accumulate", accumulations, COUNT_OF(accumulations)},
    {"optimizer-impl", implementations, COUNT_OF(implementations)},
    {"lora", adapters, COUNT_OF(adapters)},
};

static uint32_t draw(uint64_t *state, size_t count)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*state >> 33) % count);
}

/* Sums of the records, by what they stand for. */
typedef struct sums {
    uint64_t saved, other, operators, persistent[MS_CATEGORY_COUNT];
} sums;

static sums add_up(const ms_ledger *ledger)
{
    sums s = {.saved = 0};
    for (uint32_t i = 0; i < ledger->records.count; i++) {
        const ms_record *r = &ledger->records.items[i];
        assert_true(r->peak_saved_bytes <= r->peak_bytes);
        if (r->op == MS_NONE) {
            s.persistent[r->category] += r->peak_bytes;
            assert_int_equal(r->peak_saved_bytes, 0);
            continue;
        }
        s.operators += r->peak_bytes;
        s.saved += r->peak_saved_bytes;
        s.other += r->peak_bytes - r->peak_saved_bytes;
    }
    return s;
}

/* Alive at the peak, by no operator and no tensor that stays; by category. */
static void find_left(const ms_analysis *analysis, uint64_t left[MS_CATEGORY_COUNT])
{
    const ms_peak *peak = analysis->ledger.peak;
    for (uint32_t i = 0; i < peak->storages.count; i++) {
        uint32_t index = peak->storages.items[i];
        const ms_storage *s = &analysis->simulated.simulation.trace.storages.items[index];
        if (s->op == MS_NONE && s->category >= MS_CATEGORY_INPUT)
            left[s->category] += analysis->simulated.usage.block_bytes[index];
    }
}

static void check_peak(const ms_analysis *analysis)
{
    const ms_ledger *ledger = &analysis->ledger;
    const uint64_t *category = ledger->peak->category_bytes;
    const sums s = add_up(ledger);
    uint64_t left[MS_CATEGORY_COUNT] = {0};
    find_left(analysis, left);
    assert_int_equal(s.saved + left[MS_CATEGORY_ACTIVATION], category[MS_CATEGORY_ACTIVATION]);
    assert_int_equal(s.persistent[MS_CATEGORY_WEIGHT], category[MS_CATEGORY_WEIGHT]);
    assert_int_equal(s.persistent[MS_CATEGORY_BUFFER], category[MS_CATEGORY_BUFFER]);
    /* Gradients that do not stay, and states that a step makes anew, are the operators'. */
    uint64_t passing = 0;
    for (int c = 0; c < MS_CATEGORY_COUNT; c++)
        if (c != MS_CATEGORY_ACTIVATION)
            passing += category[c] - s.persistent[c] - left[c];
    assert_int_equal(s.other, passing);
    assert_true(s.other + left[MS_CATEGORY_TEMPORARY] >= category[MS_CATEGORY_TEMPORARY]);
    assert_int_equal(s.saved + s.other, s.operators);
    assert_true(left[MS_CATEGORY_ACTIVATION] <= MOST_LEFT_BYTES);
    assert_true(left[MS_CATEGORY_TEMPORARY] <= MOST_LEFT_BYTES);
}

/* False: what was drawn does not go together. */
static bool check_one(uint64_t *state, bool unroll)
{
    ms_error err = {0};
    ms_run *run = ms_run_create();
    for (size_t i = 0; i < FIELDS; i++) {
        const char *value = choices[i].values[draw(state, choices[i].count)];
        if (value)
            assert_int_equal(ms_run_set(run, choices[i].field, value, &err), MS_OK);
    }
    ms_analysis *analysis = ms_analyze(run, &err);
    ms_run_free(run);
    if (!analysis)
        return false;
    if (unroll)
        assert_int_equal(ms_analysis_unroll(analysis, &err), MS_OK);
    check_peak(analysis);
    ms_analysis_free(analysis);
    return true;
}

static void test_alive(void **state)
{
    (void)state;
    uint64_t drawn = 1;
    uint32_t done = 0, refused = 0;
    while (done < RUNS && refused < MOST_REFUSED) {
        if (check_one(&drawn, done % 7 == 0))
            done++;
        else
            refused++;
    }
    assert_int_equal(done, RUNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_alive)};
    return cmocka_run_group_tests_name("alive", tests, NULL, NULL);
}
