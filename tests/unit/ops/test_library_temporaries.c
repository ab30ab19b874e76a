/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What library kernels allocate for themselves, against PyTorch 2.11's own requests (null device,
 * compute capability 8.0 unless the label says otherwise).
 */
#include "torch/ops/ops.h"
#include "torch/autograd/cuda_reduce.h"

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
    uint32_t key_bits; /* 0: all 64 */
} cub_case;

static void check_cub(void **state)
{
    const cub_case *c = *state;
    ms_device device = {.compute_capability = c->capability};
    ms_tape tape = {.options = {.device = &device}};
    assert_int_equal(ms_cub_sort_bytes(&tape, c->items, c->key_bits ? c->key_bits : 64),
                     c->sort_bytes);
    if (c->unique_bytes)
        assert_int_equal(ms_cub_unique_bytes(c->items), c->unique_bytes);
    if (c->scan_bytes)
        assert_int_equal(ms_cub_scan_bytes(c->items), c->scan_bytes);
}

static const cub_case cub_cases[] = {
    {"one block sorts 2304", 80, 2304, 1, 0, 0, 15},
    {"2560 keys of 15 bits", 80, 2560, 46591, 0, 0, 15},
    {"3000 keys of 15 bits", 80, 3000, 53759, 0, 0, 15},
    {"4000 keys of 15 bits", 80, 4000, 70655, 0, 0, 15},
    {"3073 items", 80, 3073, 67583, 1279, 1279, 0},
    {"4096 items", 80, 4096, 84479, 1279, 1279, 0},
    {"16384 items", 80, 16384, 284159, 1279, 1535, 0},
    {"65536 items", 80, 65536, 1083903, 1791, 2303, 0},
    {"262144 items", 80, 262144, 4281855, 3583, 5887, 0},
    {"2000000 items", 80, 2000000, 32550399, 18943, 36863, 0},
    {"4096 items on 9.0", 90, 4096, 83455, 0, 0, 0},
    {"131072 items on 9.0", 90, 131072, 2143743, 0, 0, 0},
};

/* ---- CUB: sorts by few bits, selections ---- */

typedef struct few_bits {
    const char *label;
    uint32_t capability, bits;
    uint64_t items, bytes;
} few_bits;

static ms_tape tape_of(ms_device *device, uint32_t capability)
{
    *device = (ms_device){.compute_capability = capability, .multiprocessors = 108};
    return (ms_tape){.options = {.device = device}};
}

static void check_few_bits(void **state)
{
    const few_bits *c = *state;
    ms_device device;
    ms_tape tape = tape_of(&device, c->capability);
    assert_int_equal(ms_cub_sort_bytes(&tape, c->items, c->bits), c->bytes);
}

static const few_bits few_bits_cases[] = {
    {"one tile", 80, 11, 2304, 1},           {"one more", 80, 11, 2305, 43007},
    {"one pass", 80, 8, 4096, 4607},         {"two passes", 80, 9, 5000, 87039},
    {"three passes", 80, 17, 16384, 273919}, {"four passes", 80, 25, 7681, 135167},
    {"one pass on 9.0", 90, 8, 4096, 3583},  {"two passes on 9.0", 90, 16, 262144, 4257279},
};

typedef struct selection {
    const char *label;
    uint32_t capability;
    uint64_t items, count_bytes, select_bytes;
} selection;

static void check_selection(void **state)
{
    const selection *c = *state;
    ms_device device;
    ms_tape tape = tape_of(&device, c->capability);
    assert_int_equal(ms_cub_count_bytes(&tape, c->items), c->count_bytes);
    assert_int_equal(ms_cub_select_bytes(&tape, c->items), c->select_bytes);
    assert_int_equal(ms_cub_scan32_bytes(512), 1023);
}

static const selection selections[] = {
    {"few", 80, 4096, 1, 1023},          {"more", 80, 4097, 4607, 1023},
    {"32 tiles", 80, 73728, 4607, 1023}, {"33 tiles", 80, 73729, 4607, 1279},
    {"many", 80, 1000000, 4607, 4351},   {"33 tiles on 9.0", 90, 135169, 4607, 1279},
};

/* ---- CUB: sort() of one row of fp32 ---- */

typedef struct row_sort {
    const char *label;
    uint32_t capability;
    uint64_t items, bytes;
} row_sort;

static void check_row_sort(void **state)
{
    const row_sort *c = *state;
    ms_device device;
    ms_tape tape = tape_of(&device, c->capability);
    assert_int_equal(ms_cub_sort32_bytes(&tape, c->items), c->bytes);
}

static const row_sort row_sorts[] = {
    {"4097", 80, 4097, 60415},
    {"32000", 80, 32000, 403967},
    {"65536", 80, 65536, 817663},
    {"128256", 80, 128256, 1590783},
    {"248320", 80, 248320, 3071487},
    {"262144", 80, 262144, 3242495},
    {"4097 on 9.0", 90, 4097, 59391},
    {"50257 on 9.0", 90, 50257, 622335},
    {"120818 on 9.0", 90, 120818, 1482239},
    {"151936 on 9.0", 90, 151936, 1861631},
    {"262144 on 9.0", 90, 262144, 3204607},
};

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(reductions) + COUNT_OF(cub_cases) + COUNT_OF(few_bits_cases) +
                            COUNT_OF(selections) + COUNT_OF(row_sorts)];
    size_t count = ADD_ROWS(tests, check_reduction, reductions);
    count += ADD_ROWS(tests + count, check_cub, cub_cases);
    count += ADD_ROWS(tests + count, check_few_bits, few_bits_cases);
    count += ADD_ROWS(tests + count, check_selection, selections);
    count += ADD_ROWS(tests + count, check_row_sort, row_sorts);
    return _cmocka_run_group_tests("library temporaries", tests, count, NULL, NULL);
}
