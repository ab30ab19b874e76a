/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pipelines: layouts, stages, schedules, what is refused, and steps as PyTorch's own schedules and
 * caching allocator ran them.
 */
#include "run/step/pipeline/schedule.h"
#include "unit/rank_steps.h"

/* ---- layouts ---- */

typedef struct layout_case {
    const char *label, *text; /* as written */
    ms_parallel_kind kind;
    uint64_t world;
    const char *shown;
} layout_case;

static const layout_case layouts[] = {
    {"alone", "pp=4,schedule=gpipe,microbatches=8", MS_PARALLEL_PP, 4,
     "pp=4,schedule=gpipe,microbatches=8"},
    {"the usual schedule", "pp=4,microbatches=8", MS_PARALLEL_PP, 4,
     "pp=4,schedule=1f1b,microbatches=8"},
    {"in another order", "microbatches=8,stages_per_rank=2,schedule=loopedbfs,pp=2", MS_PARALLEL_PP,
     2, "pp=2,schedule=loopedbfs,microbatches=8,stages_per_rank=2"},
    {"with fully_shard", "fsdp=8,pp=4,microbatches=8", MS_PARALLEL_FSDP2, 32,
     "pp=4,schedule=1f1b,microbatches=8,fsdp=8"},
    {"with tensor parallelism", "tp=8,pp=16,schedule=gpipe,microbatches=4", MS_PARALLEL_TP, 128,
     "pp=16,schedule=gpipe,microbatches=4,tp=8"},
    {"with both", "tp=2,pp=2,fsdp=4,microbatches=4", MS_PARALLEL_FSDP2, 16,
     "pp=2,schedule=1f1b,microbatches=4,tp=2,fsdp=4"},
};

static void layout_is_read(void **state)
{
    const layout_case *c = *state;
    ms_layout layout;
    ms_error err = {0};
    assert_int_equal(ms_layout_parse(c->text, &layout, &err), MS_OK);
    assert_int_equal(layout.kind, c->kind);
    assert_int_equal(ms_layout_world(&layout), c->world);
    ms_arena *arena = ms_arena_create(0);
    assert_string_equal(ms_layout_text(arena, &layout), c->shown);
    ms_arena_free(arena);
}

/* ---- stages ---- */

typedef struct stage_case {
    const char *label;
    uint64_t ranks, stages, layers, rank, number;
    ms_pipeline_stage stage;
    ms_pipeline_kind kind;
} stage_case;

static const stage_case stages[] = {
    {"first", 4, 1, 32, 0, 0, {0, 0, 8, true, false}, MS_PIPELINE_1F1B},
    {"last", 4, 1, 32, 3, 0, {3, 24, 32, false, true}, MS_PIPELINE_1F1B},
    {"uneven", 3, 1, 7, 1, 0, {1, 2, 4, false, false}, MS_PIPELINE_1F1B},
    {"uneven, last", 3, 1, 7, 2, 0, {2, 4, 7, false, true}, MS_PIPELINE_1F1B},
    {"second of a rank", 4, 2, 16, 1, 1, {5, 10, 12, false, false}, MS_PIPELINE_1F1B},
    {"last of a rank", 4, 2, 16, 3, 1, {7, 14, 16, false, true}, MS_PIPELINE_1F1B},
    {"V, last on the first rank", 4, 2, 16, 0, 1, {7, 14, 16, false, true}, MS_PIPELINE_ZBV},
    {"V, at its turn", 4, 2, 16, 3, 1, {4, 8, 10, false, false}, MS_PIPELINE_ZBV},
};

static void stage_has_layers(void **state)
{
    const stage_case *c = *state;
    const ms_pipeline_layout layout = {.ranks = c->ranks, .stages = c->stages, .kind = c->kind};
    const ms_pipeline_stage s = ms_pipeline_stage_of(&layout, c->rank, c->number, c->layers);
    assert_int_equal(s.index, c->stage.index);
    assert_int_equal(s.first, c->stage.first);
    assert_int_equal(s.end, c->stage.end);
    assert_int_equal(s.is_first, c->stage.is_first);
    assert_int_equal(s.is_last, c->stage.is_last);
}

typedef struct rank_case {
    const char *label, *layout;
    uint64_t rank, place;
} rank_case;

static const rank_case ranks[] = {
    {"alone", "pp=4,microbatches=4", 3, 3},
    {"neighbours share a stage", "pp=4,microbatches=4,fsdp=8", 7, 0},
    {"the next stage", "pp=4,microbatches=4,fsdp=8", 8, 1},
    {"the last rank", "pp=4,microbatches=4,fsdp=8", 31, 3},
    {"neighbours share products", "pp=4,microbatches=4,tp=2", 1, 0},
    {"their shards are further apart", "pp=4,microbatches=4,tp=2,fsdp=4", 8, 1},
};

static void rank_has_a_place(void **state)
{
    const rank_case *c = *state;
    ms_parallel parallel = {.rank = c->rank};
    ms_error err = {0};
    assert_int_equal(ms_layout_parse(c->layout, &parallel.layout, &err), MS_OK);
    assert_int_equal(ms_parallel_pipeline_rank(&parallel), c->place);
}

/* ---- schedules ---- */

typedef struct schedule_case {
    const char *label;
    ms_pipeline_layout layout;
    uint64_t rank;
    const char *actions; /* as PyTorch's pipeline_order: forward, backward or its parts, inputs and
                            weights; stage of the rank; micro-batch */
} schedule_case;

static const schedule_case schedules[] = {
    {"1F1B, first", {2, 1, 4, MS_PIPELINE_1F1B, true}, 0, "F00 F01 B00 F02 B01 F03 B02 B03"},
    {"1F1B, last", {2, 1, 3, MS_PIPELINE_1F1B, true}, 1, "F00 B00 F01 B01 F02 B02"},
    {"1F1B, no more than ahead",
     {4, 1, 4, MS_PIPELINE_1F1B, true},
     0,
     "F00 F01 F02 F03 B00 B01 B02 B03"},
    {"GPipe", {4, 1, 3, MS_PIPELINE_GPIPE, true}, 2, "F00 F01 F02 B00 B01 B02"},
    {"looped", {2, 2, 2, MS_PIPELINE_LOOPED_BFS, true}, 0, "F00 F01 F10 F11 B11 B10 B01 B00"},
    {"interleaved, first",
     {2, 2, 4, MS_PIPELINE_INTERLEAVED, true},
     0,
     "F00 F01 F10 F11 F02 B10 F03 B11 F12 B00 F13 B01 B12 B13 B02 B03"},
    {"interleaved, last",
     {2, 2, 4, MS_PIPELINE_INTERLEAVED, true},
     1,
     "F00 F01 F10 B10 F11 B11 F02 B00 F03 B01 F12 B12 F13 B13 B02 B03"},
    {"interleaved, fewer than ranks",
     {4, 2, 3, MS_PIPELINE_INTERLEAVED, true},
     3,
     "F00 F01 F02 F10 B10 F11 B11 F12 B12 B00 B01 B02"},
    {"ZBV, first",
     {2, 2, 4, MS_PIPELINE_ZBV, true},
     0,
     "F00 F01 F02 F10 I10 W10 F11 I11 W11 F03 I00 W00 F12 I12 W12 I01 W01 F13 I13 W13 I02 W02 I03 "
     "W03"},
    {"ZBV, middle",
     {2, 2, 4, MS_PIPELINE_ZBV, true},
     1,
     "F00 F10 F01 F11 I10 W10 F02 I00 W00 F12 I11 W11 F03 I01 W01 F13 I12 W12 I02 I13 I03 W02 W13 "
     "W03"},
    {"ZBV, fewer than it has room for",
     {4, 2, 2, MS_PIPELINE_ZBV, true},
     1,
     "F00 F01 F10 F11 I10 W10 I11 W11 I00 W00 I01 W01"},
    {"interleaved zero bubble",
     {2, 2, 4, MS_PIPELINE_INTERLEAVED_ZB, true},
     1,
     "F00 F01 F10 I10 F11 I11 W10 F02 I00 W11 F03 I01 W00 F12 I12 W01 F13 I13 W12 I02 W13 I03 W02 "
     "W03"},
    {"interleaved zero bubble, fewer than ranks",
     {4, 2, 3, MS_PIPELINE_INTERLEAVED_ZB, true},
     3,
     "F00 F01 F02 F10 I10 F11 I11 F12 I12 I00 W10 I01 W11 I02 W12 W00 W01 W02"},
};

static void actions_are_in_order(void **state)
{
    const schedule_case *c = *state;
    ms_pipeline_action actions[32];
    char text[160] = "";
    uint64_t count = ms_pipeline_action_count(&c->layout);
    ms_pipeline_schedule(&c->layout, c->rank, actions);
    for (uint64_t i = 0, at = 0; i < count; i++)
        at += (uint64_t)snprintf(text + at, sizeof text - at, "%s%c%u%u", i ? " " : "",
                                 "BFIW"[actions[i].pass], actions[i].stage, actions[i].micro_batch);
    assert_string_equal(text, c->actions);
}

/* ---- runs ---- */

#define LLAMA                                                                                      \
    {                                                                                              \
        "config", "llama-3.1-8b"                                                                   \
    }
#define MIXED                                                                                      \
    {"dtype", "fp32"}, {"param-dtype", "bf16"},                                                    \
    {                                                                                              \
        "reduce-dtype", "fp32"                                                                     \
    }

static const rank_step runs[] = {
    {"first, checkpoints",
     {LLAMA, {"parallel", "pp=2,microbatches=4"}, {"checkpointing", "all"}},
     NULL,
     24175076864,
     33575839232,
     34795945984},
    {"last, checkpoints",
     {LLAMA, {"parallel", "pp=2,microbatches=4"}, {"rank", "1"}, {"checkpointing", "all"}},
     NULL,
     24175101952,
     36219343360,
     37778096128},
    {"middle",
     {LLAMA, {"parallel", "pp=4,microbatches=8"}, {"rank", "1"}},
     NULL,
     10755036160,
     24362955776,
     24886902784},
    {"micro-batches as accumulated",
     {LLAMA, {"parallel", "pp=4"}, {"accumulate", "8"}, {"rank", "1"}},
     NULL,
     10755036160,
     24362955776,
     24886902784},
    {"GPipe",
     {LLAMA, {"parallel", "pp=4,schedule=gpipe,microbatches=8"}},
     NULL,
     13772838400,
     41648240128,
     45587890176},
    {"interleaved",
     {LLAMA,
      {"parallel", "pp=4,schedule=interleaved,stages_per_rank=2,microbatches=8"},
      {"rank", "1"}},
     NULL,
     11023471616,
     29657424896,
     30014439424},
    {"with fully_shard",
     {LLAMA,
      {"parallel", "pp=4,microbatches=8,fsdp=8"},
      {"rank", "31"},
      {"checkpointing", "all"},
      MIXED},
     NULL,
     3557847040,
     21059027456,
     25383927808},
    {"looped",
     {LLAMA,
      {"parallel", "pp=4,schedule=loopedbfs,stages_per_rank=2,microbatches=4"},
      {"checkpointing", "all"}},
     NULL,
     13839881728,
     19634476544,
     20826816512},
    {"stages that are gathered in turns",
     {LLAMA,
      {"parallel", "pp=2,schedule=interleaved,stages_per_rank=4,microbatches=4,fsdp=2"},
      {"rank", "1"},
      {"checkpointing", "all"},
      MIXED},
     NULL,
     24577730048,
     48586810880,
     59559116800},
    {"a tied head",
     {{"config", "llama-3.2-1b"},
      {"parallel", "pp=2,schedule=gpipe,microbatches=2"},
      {"rank", "1"}},
     NULL,
     4531456000,
     13414257152,
     13612613632},
    {"another family",
     {{"config", "gpt2"}, {"parallel", "pp=2,microbatches=2"}},
     "for gpt2, whose modules were not compared",
     0,
     0,
     0},
    {"checkpoints under zero bubble",
     {LLAMA, {"parallel", "pp=2,schedule=zbv,microbatches=4"}, {"checkpointing", "all"}},
     "layers that are kept",
     0,
     0,
     0},
    {"zero bubble beside others",
     {LLAMA, {"parallel", "pp=2,schedule=interleavedzb,stages_per_rank=2,microbatches=4,fsdp=2"}},
     "beside other layouts",
     0,
     0,
     0},
    {"three stages in a V",
     {LLAMA, {"parallel", "pp=2,schedule=zbv,stages_per_rank=3,microbatches=4"}},
     "two stages on each rank",
     0,
     0,
     0},
    {"an odd round of zero bubble",
     {LLAMA, {"parallel", "pp=2,schedule=interleavedzb,stages_per_rank=2,microbatches=5"}},
     "interleavedzb needs a multiple of 2",
     0,
     0,
     0},
    {"too few micro-batches",
     {LLAMA, {"parallel", "pp=4,microbatches=2"}},
     "as many micro-batches",
     0,
     0,
     0},
    {"no micro-batches", {LLAMA, {"parallel", "pp=4"}}, "pp=N needs microbatches=M", 0, 0, 0},
    {"two numbers of micro-batches",
     {LLAMA, {"parallel", "pp=4,microbatches=4"}, {"accumulate", "8"}},
     "but parallel has microbatches=4",
     0,
     0,
     0},
    {"an odd round",
     {LLAMA, {"parallel", "pp=2,schedule=interleaved,stages_per_rank=2,microbatches=5"}},
     "a multiple of 2",
     0,
     0,
     0},
    {"one stage, interleaved",
     {LLAMA, {"parallel", "pp=2,schedule=interleaved,microbatches=4"}},
     "more than one",
     0,
     0,
     0},
    {"two stages, 1F1B",
     {LLAMA, {"parallel", "pp=2,stages_per_rank=2,microbatches=4"}},
     "one stage on each rank",
     0,
     0,
     0},
    {"more stages than layers",
     {LLAMA, {"parallel", "pp=33,microbatches=40"}},
     "32 layers",
     0,
     0,
     0},
    {"one rank", {LLAMA, {"parallel", "pp=1,microbatches=4"}}, "splits nothing", 0, 0, 0},
    {"an adapter",
     {LLAMA, {"parallel", "pp=2,microbatches=2"}, {"lora", "r=8"}},
     "adapter",
     0,
     0,
     0},
    {"autocast",
     {LLAMA, {"parallel", "pp=2,microbatches=2"}, {"dtype", "fp32"}, {"autocast", "bf16"}},
     "autocast",
     0,
     0,
     0},
    {"other treatments",
     {LLAMA, {"parallel", "pp=2,microbatches=2"}, {"treat", "all=offload:0.5"}},
     "treatments",
     0,
     0,
     0},
    {"resharded after forward",
     {LLAMA, {"parallel", "pp=2,microbatches=2,fsdp=2"}, {"reshard-after-forward", "yes"}},
     "give no",
     0,
     0,
     0},
    {"an option that the schedule sets",
     {LLAMA, {"parallel", "pp=2,microbatches=2,fsdp=2"}, {"no-sync", "yes"}},
     "no-sync",
     0,
     0,
     0},
    {"rotary tables that are cast",
     {{"config", "olmo-2-7b"},
      {"parallel", "pp=2,microbatches=2,fsdp=2"},
      {"dtype", "fp32"},
      {"param-dtype", "bf16"}},
     "rotary tables",
     0,
     0,
     0},
    {"a rank too many",
     {LLAMA, {"parallel", "pp=2,microbatches=2,fsdp=2"}, {"rank", "4"}},
     "0 to 3",
     0,
     0,
     0},
};

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(layouts) + COUNT_OF(stages) + COUNT_OF(ranks) +
                            COUNT_OF(schedules) + COUNT_OF(runs)];
    size_t count = ADD_ROWS(tests, layout_is_read, layouts);
    count += ADD_ROWS(tests + count, stage_has_layers, stages);
    count += ADD_ROWS(tests + count, rank_has_a_place, ranks);
    count += ADD_ROWS(tests + count, actions_are_in_order, schedules);
    ADD_ROWS(tests + count, step_is_as_measured, runs);
    return cmocka_run_group_tests_name("pipeline", tests, NULL, NULL);
}
