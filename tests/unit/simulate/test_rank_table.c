/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which rank needs most: the table agrees with the simulation of every single rank.
 */
#include "run/simulate/ranks.h"

#include "input/config/model/model_config.h"
#include "run/simulate/simulate.h"
#include "unit/fixtures.h"

typedef struct rank_case {
    const char *model, *layout, *option, *value;
    uint32_t least_rows; /* that differ */
    bool is_first_worst;
} rank_case;

static rank_case cases[] = {
    {"qwen2.5-0.5b", "dp=4", NULL, NULL, 1, true},
    {"llama-3.2-1b", "dp=4", "zero-optimizer", "yes", 3, true},
    {"qwen2.5-0.5b", "fsdp=8", NULL, NULL, 1, true},
    {"qwen2.5-0.5b", "fsdp=12", NULL, NULL, 2, true},
    {"smollm2-135m", "fsdp=7", NULL, NULL, 2, true},
    {"smollm2-135m", "fsdp=50", NULL, NULL, 3, true},
    {"llama-3.2-1b", "hsdp=2x7", NULL, NULL, 2, true},
    {"smollm2-135m", "fsdp1=5", NULL, NULL, 2, false},
    {"smollm2-135m", "hsdp1=2x3", NULL, NULL, 1, false},
    {"qwen3-8b", "tp=4", NULL, NULL, 1, true},
    {"qwen3-8b", "tp=2,fsdp=6", NULL, NULL, 2, true},
    {"llama-3.2-1b", "pp=4,microbatches=4", NULL, NULL, 3, true},
    {"llama-3.2-1b", "pp=2,microbatches=3,fsdp=6", NULL, NULL, 2, false},
    {"qwen3-8b", "cp=2,fsdp=3", NULL, NULL, 2, true},
    {"smollm2-135m", "zero=1,dp=5", NULL, NULL, 1, true},
    {"smollm2-135m", "zero=2,dp=7", NULL, NULL, 1, true},
    {"smollm2-135m", "zero=3,dp=6", NULL, NULL, 1, true},
};

typedef struct loaded {
    ms_arena *arena;
    ms_model_config model;
    ms_run_config run;
} loaded;

static void load(const rank_case *c, const char *rank, loaded *l)
{
    const ms_run_setting settings[] = {
        {"config", c->model},
        {"parallel", c->layout},
        {"seq", "256"},
        {"device", "h100-80gb"},
        {c->option ? c->option : "batch", c->option ? c->value : "1"},
        {rank ? "rank" : "batch", rank ? rank : "1"}};
    l->arena = ms_arena_create(0);
    load_run(l->arena, settings, COUNT_OF(settings), &l->model, &l->run);
}

/* What one rank needs, simulated alone. */
static ms_rank_need need_of(loaded *l, uint64_t rank)
{
    ms_run_config run = l->run;
    ms_simulated s;
    run.parallel.rank = rank;
    const ms_job job = {.model = &l->model, .run = &run};
    assert_int_equal(ms_simulate(&job, MS_SIMULATE_FIT, &s, NULL), MS_OK);
    const ms_rank_need need = {.rank = rank,
                               .weight_bytes = s.simulation.weight_bytes,
                               .peak_bytes = s.usage.peak_bytes,
                               .reserved_bytes = ms_simulated_wanted_bytes(&s),
                               .device_bytes = s.judgement.device_bytes.expected};
    ms_simulated_free(&s);
    return need;
}

/* Ranks that hold copies of a shard need the same, so those of one copy say all. */
static const ms_rank_need *row_of(const ms_parallel *parallel, uint64_t rank)
{
    const ms_layout *layout = &parallel->layout;
    uint64_t copies = ms_layout_shards(layout) ? layout->copies : 1;
    const ms_rank_table *table = &parallel->ranks;
    for (uint32_t i = 0; i < table->count; i++)
        if (rank >= table->items[i].rank &&
            rank < table->items[i].rank + table->items[i].count / copies)
            return &table->items[i];
    fail_msg("no row has rank %d", (int)rank);
    return NULL;
}

static void the_table_is_of_every_rank(void **state)
{
    const rank_case *c = *state;
    loaded l;
    ms_error err = {0};
    load(c, NULL, &l);
    assert_int_equal(ms_ranks_settle(l.arena, &l.model, &l.run, &err), MS_OK);
    const ms_parallel *parallel = &l.run.parallel;
    uint64_t world = ms_layout_world(&parallel->layout), counted = 0, most = 0;
    uint64_t copies = ms_layout_shards(&parallel->layout) ? parallel->layout.copies : 1;
    assert_true(parallel->ranks.count >= c->least_rows);
    for (uint32_t i = 0; i < parallel->ranks.count; i++)
        counted += parallel->ranks.items[i].count;
    assert_int_equal(counted, world);
    const ms_rank_need first = need_of(&l, 0);
    for (uint64_t rank = 0; rank < world; rank++) {
        const ms_rank_need need = need_of(&l, rank);
        const ms_rank_need *row = row_of(parallel, rank % (world / copies));
        most = need.device_bytes > most ? need.device_bytes : most;
        const ms_rank_need *expected = row->device_bytes ? row : &first; /* one row: not measured */
        assert_int_equal(need.weight_bytes, expected->weight_bytes);
        assert_int_equal(need.peak_bytes, expected->peak_bytes);
        assert_int_equal(need.reserved_bytes, expected->reserved_bytes);
        assert_int_equal(need.device_bytes, expected->device_bytes);
    }
    const ms_rank_need worst = need_of(&l, parallel->rank);
    assert_int_equal(worst.device_bytes, most);
    assert_int_equal(parallel->rank == 0, c->is_first_worst);
    ms_arena_free(l.arena);
}

static void a_rank_that_is_given_stays(void **state)
{
    loaded l;
    (void)state;
    load(&cases[6], "13", &l);
    assert_int_equal(ms_ranks_settle(l.arena, &l.model, &l.run, NULL), MS_OK);
    assert_int_equal(l.run.parallel.rank, 13);
    assert_int_equal(l.run.parallel.ranks.count, 0);
    ms_arena_free(l.arena);
}

/* More than are quick to simulate: only who asks waits for them. */
static void many_ranks_are_looked_at_when_asked(void **state)
{
    static const rank_case many = {.model = "smollm2-135m", .layout = "zero=1,dp=80"};
    loaded l;
    (void)state;
    load(&many, NULL, &l);
    assert_int_equal(ms_ranks_settle(l.arena, &l.model, &l.run, NULL), MS_OK);
    assert_int_equal(l.run.parallel.ranks.count, 0);
    ms_arena_free(l.arena);
    load(&many, "worst", &l);
    assert_int_equal(ms_ranks_settle(l.arena, &l.model, &l.run, NULL), MS_OK);
    assert_true(l.run.parallel.ranks.count > 0);
    ms_arena_free(l.arena);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(cases) + 2] = {
        cmocka_unit_test(a_rank_that_is_given_stays),
        cmocka_unit_test(many_ranks_are_looked_at_when_asked),
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        tests[i + 2] = (struct CMUnitTest){.name = cases[i].layout,
                                           .test_func = the_table_is_of_every_rank,
                                           .initial_state = &cases[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
