/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Layouts of ranks: what is read, and how it is written again.
 */
#include <string.h>

#include "base/arena.h"
#include "input/config/run/layout.h"
#include "unit/support.h"

typedef struct layout_case {
    const char *text;
    ms_parallel_kind kind;
    uint64_t shards, copies, tensor;
    uint32_t stage;
    const char *name;
} layout_case;

static const layout_case good[] = {
    {"none", MS_PARALLEL_NONE, 1, 1, 1, 0, "one rank"},
    {"dp=1", MS_PARALLEL_DDP, 1, 1, 1, 0, "DistributedDataParallel"},
    {"dp=8", MS_PARALLEL_DDP, 1, 8, 1, 0, "DistributedDataParallel"},
    {"fsdp=1048576", MS_PARALLEL_FSDP2, 1048576, 1, 1, 0, "FSDP2"},
    {"hsdp=2x8", MS_PARALLEL_FSDP2, 8, 2, 1, 0, "HSDP"},
    {"fsdp1=8", MS_PARALLEL_FSDP1, 8, 1, 1, 0, "FSDP1"},
    {"hsdp1=2x8", MS_PARALLEL_FSDP1, 8, 2, 1, 0, "FSDP1 with HYBRID_SHARD"},
    {"tp=4", MS_PARALLEL_TP, 1, 1, 4, 0, "tensor parallelism"},
    {"tp=2,fsdp=4", MS_PARALLEL_FSDP2, 4, 1, 2, 0, "tensor parallelism with FSDP2"},
    {"zero=2,dp=16", MS_PARALLEL_ZERO, 16, 1, 1, 2, "ZeRO-2"},
};

static const char *const bad[] = {
    "",
    "dp",
    "dp=",
    "dp=0",
    "dp=-1",
    "dp=8x2",
    "dp= 8",
    "dp=8 ",
    "dp=1.5",
    "fsdp=0x8",
    "hsdp=8",
    "hsdp=2x",
    "hsdp=x8",
    "hsdp=2x8x2",
    "hsdp=0x8",
    "fsdp=1e3",
    "ddp=8",
    "FSDP=8",
    "fsdp=1048577",
    "dp=2,fsdp=4",
    "pp=0",
    "pp=4,pp=4",
    "schedule=1f1b",
    "pp=4,schedule=2f2b",
    "pp=4,cp=2",
    "pp=4,hsdp=2x4",
    "microbatches=8,dp=2",
    "pp=4097",
    "pp=4096,fsdp=1024",
    "none=1",
    "zero=4,dp=2",
    "zero=3",
    "tp=2,tp=2",
    "tp=2,dp=2",
    "tp=2,",
    ",tp=2",
    "fsdp=4,fsdp1=4",
    "hsdp=1x8",
    "hsdp=2048x2048",
    "dp=18446744073709551617",
};

static void layouts_are_read(void **state)
{
    (void)state;
    ms_arena *arena = ms_arena_create(0);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ms_layout layout;
        ms_error err = {0};
        assert_int_equal(ms_layout_parse(good[i].text, &layout, &err), MS_OK);
        assert_int_equal(layout.kind, good[i].kind);
        assert_int_equal(layout.shards, good[i].shards);
        assert_int_equal(layout.copies, good[i].copies);
        assert_int_equal(layout.tensor, good[i].tensor);
        assert_int_equal(layout.stage, good[i].stage);
        assert_int_equal(ms_layout_world(&layout),
                         good[i].shards * good[i].copies * good[i].tensor);
        assert_string_equal(ms_layout_text(arena, &layout), good[i].text);
        assert_string_equal(ms_layout_name(&layout), good[i].name);
    }
    ms_arena_free(arena);
}

static void others_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ms_layout layout;
        ms_error err = {0};
        if (ms_layout_parse(bad[i], &layout, &err) == MS_OK)
            fail_msg("'%s' is read", bad[i]);
        assert_true(strncmp(err.text, "found '", 7) == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(layouts_are_read),
                                       cmocka_unit_test(others_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
