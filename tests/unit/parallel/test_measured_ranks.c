/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Steps of one rank under DistributedDataParallel, with copies of shards and with context
 * parallelism, as PyTorch's own code and caching allocator ran them; and how layouts with contexts
 * are written.
 */
#include "unit/rank_steps.h"

/* ---- layouts ---- */

typedef struct layout_case {
    const char *label, *text; /* as written */
    uint64_t world, context;
    const char *shown; /* NULL: it is refused */
} layout_case;

static const layout_case layouts[] = {
    {"cp", "cp=4", 4, 4, "cp=4"},
    {"cp of one", "cp=1", 1, 1, "none"},
    {"cp and fsdp", "cp=4,fsdp=2", 8, 4, "cp=4,fsdp=2"},
    {"fsdp and cp", "fsdp=2,cp=4", 8, 4, "cp=4,fsdp=2"},
    {"cp and fsdp of one", "cp=4,fsdp=1", 4, 4, "cp=4"},
    {"cp and dp", "cp=4,dp=2", 0, 0, NULL},
    {"cp and tp", "cp=4,tp=2", 0, 0, NULL},
    {"cp and hsdp", "cp=4,hsdp=2x4", 0, 0, NULL},
    {"cp and fsdp1", "cp=4,fsdp1=2", 0, 0, NULL},
    {"twice", "cp=2,cp=2", 0, 0, NULL},
    {"zero", "cp=0", 0, 0, NULL},
    {"too many", "cp=1048576,fsdp=2", 0, 0, NULL},
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
    assert_int_equal(layout.kind, c->context > 1 ? MS_PARALLEL_FSDP2 : MS_PARALLEL_NONE);
    assert_int_equal(layout.context, c->context);
    assert_int_equal(layout.shards, c->world);
    assert_int_equal(ms_layout_world(&layout), c->world);
    ms_arena *arena = ms_arena_create(0);
    assert_string_equal(ms_layout_text(arena, &layout), c->shown);
    ms_arena_free(arena);
}

/* ---- steps ---- */

#define MIXED                                                                                      \
    {"dtype", "fp32"}, {"param-dtype", "bf16"},                                                    \
    {                                                                                              \
        "reduce-dtype", "fp32"                                                                     \
    }

static const rank_step steps[] = {
    {"a static graph makes its buckets anew in the third step",
     {{"config", "llama-3.2-1b"}, {"parallel", "dp=8"}, {"seq", "2048"}, {"static-graph", "yes"}},
     NULL,
     9905609728,
     16655110144,
     17255366656},
    {"an adapter's broadcasts stand among the base's",
     {{"config", "qwen2.5-0.5b"},
      {"parallel", "dp=8"},
      {"seq", "1024"},
      {"lora", "r=16,targets=q_proj+v_proj"}},
     NULL,
     1032719360,
     4098650112,
     4462739456},
    {"copies are summed in the last micro-step",
     {{"config", "smollm2-135m"},
      {"parallel", "hsdp=2x4"},
      {"rank", "3"},
      {"seq", "1024"},
      {"accumulate", "2"},
      {"no-all-reduce", "yes"}},
     NULL,
     219525632,
     1732716544,
     2118123520},
    {"ZeRO-3 divides a base that is frozen",
     {{"config", "qwen3-0.6b"},
      {"parallel", "zero=3,dp=8"},
      {"seq", "1024"},
      {"lora", "r=16,targets=q_proj+v_proj"},
      {"checkpointing", "all"}},
     NULL,
     1176716800,
     4302798336,
     4766826496},
    {"contexts, the first rank of two",
     {{"config", "qwen3-0.6b"}, {"parallel", "cp=2"}, {"seq", "2048"}},
     NULL,
     1837820928,
     6236555776,
     7688159232},
    {"contexts of eight, checkpoints",
     {{"config", "llama-3.1-8b"},
      {"parallel", "cp=8"},
      {"seq", "16384"},
      {"checkpointing", "all"},
      MIXED},
     NULL,
     12063891968,
     21860288000,
     30182211584},
    {"contexts of two sequences, a rank in the middle",
     {{"config", "smollm2-135m"},
      {"parallel", "cp=8"},
      {"rank", "3"},
      {"seq", "4096"},
      {"batch", "2"}},
     NULL,
     118264320,
     1601916416,
     2027945984},
    {"short contexts, whose keys a kernel divides",
     {{"config", "smollm2-135m"}, {"parallel", "cp=2"}, {"seq", "256"}},
     NULL,
     421859328,
     761660928,
     1153433600},
    {"contexts and shards, reduced in the last micro-step",
     {{"config", "smollm2-135m"},
      {"parallel", "cp=4,fsdp=2"},
      {"rank", "2"},
      {"seq", "2048"},
      {"accumulate", "3"},
      {"no-sync", "yes"},
      MIXED},
     NULL,
     219550208,
     1552570368,
     1893728256},
};

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(layouts) + COUNT_OF(steps)];
    size_t count = ADD_ROWS(tests, layout_is_read, layouts);
    ADD_ROWS(tests + count, step_is_as_measured, steps);
    return cmocka_run_group_tests_name("measured ranks", tests, NULL, NULL);
}
