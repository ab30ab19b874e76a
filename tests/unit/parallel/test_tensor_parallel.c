/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tensor parallelism: layouts, what is refused, and steps as PyTorch's own DTensor and caching
 * allocator ran them.
 */
#include "unit/rank_steps.h"

/* ---- layouts ---- */

typedef struct layout_case {
    const char *label, *text; /* as written */
    ms_parallel_kind kind;
    uint64_t world, tensor, shards;
    const char *shown; /* NULL: it is refused */
} layout_case;

static const layout_case layouts[] = {
    {"tp", "tp=4", MS_PARALLEL_TP, 4, 4, 1, "tp=4"},
    {"tp of one", "tp=1", MS_PARALLEL_NONE, 1, 1, 1, "none"},
    {"tp and fsdp", "tp=2,fsdp=4", MS_PARALLEL_FSDP2, 8, 2, 4, "tp=2,fsdp=4"},
    {"fsdp and tp", "fsdp=4,tp=2", MS_PARALLEL_FSDP2, 8, 2, 4, "tp=2,fsdp=4"},
    {"fsdp", "fsdp=8", MS_PARALLEL_FSDP2, 8, 1, 8, "fsdp=8"},
    {"hsdp", "hsdp=2x4", MS_PARALLEL_FSDP2, 8, 1, 4, "hsdp=2x4"},
    {"tp and dp", "tp=2,dp=4", MS_PARALLEL_NONE, 0, 0, 0, NULL},
    {"twice", "tp=2,tp=2", MS_PARALLEL_NONE, 0, 0, 0, NULL},
    {"nothing after the comma", "tp=2,", MS_PARALLEL_NONE, 0, 0, 0, NULL},
    {"no number", "tp=", MS_PARALLEL_NONE, 0, 0, 0, NULL},
    {"zero", "tp=0", MS_PARALLEL_NONE, 0, 0, 0, NULL},
    {"too many", "tp=1048576,fsdp=1048576", MS_PARALLEL_NONE, 0, 0, 0, NULL},
};

static void layout_is_read(void **state)
{
    const layout_case *c = *state;
    ms_layout layout;
    ms_error err = {0};
    ms_status status = ms_layout_parse(c->text, &layout, &err);
    if (!c->shown) {
        assert_int_equal(status, MS_ERR_USAGE);
        return;
    }
    assert_int_equal(status, MS_OK);
    assert_int_equal(layout.kind, c->kind);
    assert_int_equal(layout.tensor, c->tensor);
    assert_int_equal(layout.shards, c->shards);
    assert_int_equal(ms_layout_world(&layout), c->world);
    ms_arena *arena = ms_arena_create(0);
    assert_string_equal(ms_layout_text(arena, &layout), c->shown);
    ms_arena_free(arena);
}

/* ---- runs ---- */

#define SPLITS                                                                                     \
    {"sequence-parallel", "yes"},                                                                  \
    {                                                                                              \
        "loss-parallel", "yes"                                                                     \
    }
#define MIXED                                                                                      \
    {"dtype", "fp32"}, {"param-dtype", "bf16"},                                                    \
    {                                                                                              \
        "reduce-dtype", "fp32"                                                                     \
    }

static const rank_step runs[] = {
    {"llama",
     {{"config", "llama-3.1-8b"}, {"parallel", "tp=4"}},
     NULL,
     12064860672,
     21797785088,
     23444062208},
    {"llama by tokens",
     {{"config", "llama-3.1-8b"}, {"parallel", "tp=4"}, {"sequence-parallel", "yes"}},
     NULL,
     12063812096,
     19342145024,
     20468203520},
    {"llama by tokens and vocabulary",
     {{"config", "llama-3.1-8b"}, {"parallel", "tp=4"}, SPLITS},
     NULL,
     12063812096,
     17240866816,
     20367540224},
    {"llama's last rank, checkpoints",
     {{"config", "llama-3.1-8b"}, {"parallel", "tp=8"}, {"rank", "7"}, {"checkpointing", "all"}},
     NULL,
     6044461568,
     9801518592,
     11427381248},
    {"qwen3, checkpoints",
     {{"config", "qwen3-8b"}, {"parallel", "tp=8"}, {"checkpointing", "all"}, SPLITS},
     NULL,
     6162002432,
     9456587264,
     9737076736},
    {"with fully_shard",
     {{"config", "llama-3.1-8b"}, {"parallel", "tp=2,fsdp=4"}, MIXED, SPLITS},
     NULL,
     12064061952,
     22379280384,
     31073501184},
    {"with fully_shard, accumulated",
     {{"config", "llama-3.1-8b"},
      {"parallel", "tp=2,fsdp=4"},
      {"checkpointing", "all"},
      {"accumulate", "3"},
      {"no-sync", "yes"},
      MIXED,
      SPLITS},
     NULL,
     12064061952,
     32642463744,
     40099643392},
    {"another family",
     {{"config", "gpt2"}, {"parallel", "tp=2"}},
     "for gpt2, whose modules were not compared",
     0,
     0,
     0},
    {"odd shards",
     {{"config", "llama-3.1-8b"}, {"parallel", "tp=3"}},
     "not a multiple of tp",
     0,
     0,
     0},
    {"tied embeddings", {{"config", "llama-3.2-1b"}, {"parallel", "tp=2"}}, "tied", 0, 0, 0},
    {"another optimizer",
     {{"config", "qwen3-8b"}, {"parallel", "tp=2"}, {"optimizer", "sgd"}},
     "optimizer",
     0,
     0,
     0},
    {"an adapter",
     {{"config", "qwen3-8b"}, {"parallel", "tp=2"}, {"lora", "r=8"}},
     "adapter",
     0,
     0,
     0},
    {"no tp",
     {{"config", "qwen3-8b"}, {"parallel", "fsdp=2"}, {"loss-parallel", "yes"}},
     "an option of tp=N",
     0,
     0,
     0},
};

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(layouts) + COUNT_OF(runs)];
    size_t count = ADD_ROWS(tests, layout_is_read, layouts);
    ADD_ROWS(tests + count, step_is_as_measured, runs);
    return cmocka_run_group_tests_name("tensor parallel", tests, NULL, NULL);
}
