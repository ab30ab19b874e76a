/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What library kernels allocate for themselves, against PyTorch 2.11's own requests (null device,
 * compute capability 8.0 unless the label says otherwise).
 */
#include "ops/ops.h"
#include "tape/cuda_reduce.h"

#include "unit/support.h"

/* ---- reductions over the rows of [inputs, outputs] ---- */

typedef struct reduction {
    const char *label;
    uint64_t outputs, inputs, partial_bytes, semaphore_bytes;
} reduction;

static const ms_device a100 = {.compute_capability = 80, .multiprocessors = 108};

static void check_reduction(void **state)
{
    const reduction *c = *state;
    ms_reduce_buffers b = ms_cuda_reduce_buffers(&a100, c->outputs, c->inputs, false);
    assert_int_equal(b.partial_bytes, c->partial_bytes);
    assert_int_equal(b.semaphore_bytes, c->semaphore_bytes);
}

static const reduction reductions[] = {
    {"bias of 1600 over 1024 rows", 1600, 1024, 13107200, 52},
    {"bias of 4800 over 1024 rows", 4800, 1024, 39321600, 152},
    {"few rows need no buffer", 96, 400, 0, 0},
    {"nothing to sum", 0, 0, 0, 0},
};

/* ---- CUB ---- */

typedef struct cub_case {
    const char *label;
    uint32_t capability;
    uint64_t items, sort_bytes, unique_bytes, scan_bytes;
} cub_case;

static void check_cub(void **state)
{
    const cub_case *c = *state;
    ms_device device = {.compute_capability = c->capability};
    ms_run_config run = {.device = &device};
    ms_tape tape = {.run = &run};
    assert_int_equal(ms_cub_sort_bytes(&tape, c->items), c->sort_bytes);
    if (c->unique_bytes)
        assert_int_equal(ms_cub_unique_bytes(c->items), c->unique_bytes);
    if (c->scan_bytes)
        assert_int_equal(ms_cub_scan_bytes(c->items), c->scan_bytes);
}

static const cub_case cub_cases[] = {
    {"3073 items", 80, 3073, 67583, 1279, 1279},
    {"4096 items", 80, 4096, 84479, 1279, 1279},
    {"16384 items", 80, 16384, 284159, 1279, 1535},
    {"65536 items", 80, 65536, 1083903, 1791, 2303},
    {"262144 items", 80, 262144, 4281855, 3583, 5887},
    {"2000000 items", 80, 2000000, 32550399, 18943, 36863},
    {"4096 items on 9.0", 90, 4096, 83455, 0, 0},
    {"131072 items on 9.0", 90, 131072, 2143743, 0, 0},
};

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(reductions) + COUNT_OF(cub_cases)];
    size_t count = ADD_ROWS(tests, check_reduction, reductions);
    count += ADD_ROWS(tests + count, check_cub, cub_cases);
    return _cmocka_run_group_tests("library temporaries", tests, count, NULL, NULL);
}
