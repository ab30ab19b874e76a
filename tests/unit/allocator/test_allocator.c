/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rules of the allocators, one by one. Figures follow from PyTorch's documented constants.
 */
#include "core/allocator/allocator.h"

#include "unit/support.h"

#define KIB(n) (UINT64_C(1024) * (n))
#define MIB(n) (KIB(1024) * (n))

/* ---- one request on an empty device ---- */

typedef struct first_request {
    const char *label;
    ms_allocator_options options;
    uint64_t bytes, allocated_bytes, reserved_bytes, inactive_split_bytes;
} first_request;

#define RAW                                                                                        \
    {                                                                                              \
        .kind = MS_ALLOCATOR_RAW                                                                   \
    }
#define CUDA                                                                                       \
    {                                                                                              \
        .kind = MS_ALLOCATOR_CUDA                                                                  \
    }
#define EXPANDABLE                                                                                 \
    {                                                                                              \
        .kind = MS_ALLOCATOR_CUDA_EXPANDABLE                                                       \
    }
#define DIVISIONS(d)                                                                               \
    {                                                                                              \
        .kind = MS_ALLOCATOR_CUDA, .roundup_power2_divisions = d                                   \
    }
#define MAX_SPLIT(m)                                                                               \
    {                                                                                              \
        .kind = MS_ALLOCATOR_CUDA, .max_split_size_bytes = m                                       \
    }

/* clang-format off */
static const first_request first_requests[] = {
    /* label                          options        asked            allocated    reserved   inactive */
    {"raw",                           RAW,           1000,            1000,        1000,      0},
    {"nothing",                       CUDA,          0,               0,           0,         0},
    {"one byte",                      CUDA,          1,               512,         MIB(2),    MIB(2) - 512},
    {"512 B",                         CUDA,          512,             512,         MIB(2),    MIB(2) - 512},
    {"513 B",                         CUDA,          513,             1024,        MIB(2),    MIB(2) - 1024},
    {"1 MiB is small",                CUDA,          MIB(1),          MIB(1),      MIB(2),    MIB(1)},
    {"1 MiB + 512 B is large",        CUDA,          MIB(1) + 512,    MIB(1) + 512, MIB(20),  MIB(19) - 512},
    {"cuBLAS workspace",              CUDA,          8519680,         8519680,     MIB(20),   12451840},
    {"just below 10 MiB",             CUDA,          MIB(10) - 512,   MIB(10) - 512, MIB(20), MIB(10) + 512},
    {"10 MiB has its own segment",    CUDA,          MIB(10),         MIB(10),     MIB(10),   0},
    {"10.5 MiB is split",             CUDA,          KIB(10752),      KIB(10752),  MIB(12),   KIB(1536)},
    {"11 MiB keeps 1 MiB of slack",   CUDA,          MIB(11),         MIB(12),     MIB(12),   0},
    {"11 MiB - 512 B is split",       CUDA,          MIB(11) - 512,   MIB(11) - 512, MIB(12), MIB(1) + 512},
    {"32 MiB workspace",              CUDA,          MIB(32),         MIB(32),     MIB(32),   0},
    {"from max_split_size on whole",  MAX_SPLIT(MIB(32)), MIB(32) + 512, MIB(34),  MIB(34),   0},
    {"below max_split_size split",    MAX_SPLIT(MIB(64)), MIB(32) + 512, MIB(32) + 512, MIB(34), MIB(2) - 512},
    {"eighths of a power of two",     DIVISIONS(8),  MIB(16) + 1,     MIB(18),     MIB(18),   0},
    {"a power of two stays",          DIVISIONS(8),  MIB(16),         MIB(16),     MIB(16),   0},
    {"too small for divisions",       DIVISIONS(8),  4096,            4096,        MIB(2),    MIB(2) - 4096},
    {"first above divisions",         DIVISIONS(8),  4097,            4608,        MIB(2),    MIB(2) - 4608},
    {"expandable, small page",        EXPANDABLE,    1,               512,         MIB(2),    0},
    {"expandable, 1 MiB is small",    EXPANDABLE,    MIB(1),          MIB(1),      MIB(2),    0},
    {"expandable, large page",        EXPANDABLE,    MIB(1) + 512,    MIB(1) + 512, MIB(20),  0},
    {"expandable has no slack",       EXPANDABLE,    MIB(11),         MIB(11),     MIB(20),   0},
    {"expandable, two pages",         EXPANDABLE,    MIB(20) + 1,     MIB(20) + 512, MIB(40), 0},
};
/* clang-format on */

static void check_first_request(void **state)
{
    const first_request *c = *state;
    ms_allocator *a = ms_allocator_create(&c->options);
    assert_non_null(a);
    const ms_allocator_stats *stats = ms_allocator_stats_of(a);
    ms_block block;
    assert_int_equal(ms_allocator_allocate(a, c->bytes, 0, &block), MS_OK);
    assert_int_equal(stats->allocated_bytes, c->allocated_bytes);
    assert_int_equal(ms_allocator_block_bytes(a, block), c->allocated_bytes);
    assert_int_equal(stats->requested_bytes, c->bytes);
    assert_int_equal(stats->reserved_bytes, c->reserved_bytes);
    assert_int_equal(stats->inactive_split_bytes, c->inactive_split_bytes);
    ms_allocator_release(a, block);
    assert_int_equal(stats->allocated_bytes, 0);
    assert_int_equal(stats->requested_bytes, 0);
    assert_int_equal(stats->inactive_split_bytes, 0);
    assert_int_equal(stats->reserved_bytes,
                     c->options.kind == MS_ALLOCATOR_RAW ? 0 : c->reserved_bytes);
    ms_allocator_free(a);
}

/* ---- scripts of several requests ---- */

typedef enum verb { STOP, TAKE, DROP, FAIL, OTHER_STREAM } verb;

typedef struct action {
    verb verb;
    uint64_t bytes;          /* TAKE, FAIL, OTHER_STREAM */
    uint32_t which;          /* DROP: the take's number, from 0 */
    uint64_t reserved_bytes; /* afterwards */
} action;

typedef struct script {
    const char *label;
    ms_allocator_options options;
    uint64_t allocated_bytes, retries; /* at the end */
    action actions[12];
} script;

#define TAKES(b, r)                                                                                \
    {                                                                                              \
        TAKE, b, 0, r                                                                              \
    }
#define DROPS(n, r)                                                                                \
    {                                                                                              \
        DROP, 0, n, r                                                                              \
    }
#define FAILS(b, r)                                                                                \
    {                                                                                              \
        FAIL, b, 0, r                                                                              \
    }
#define ON_STREAM_1(b, r)                                                                          \
    {                                                                                              \
        OTHER_STREAM, b, 0, r                                                                      \
    }

static const script scripts[] = {
    {"segments stay reserved",
     {.kind = MS_ALLOCATOR_CUDA},
     MIB(30),
     0,
     {TAKES(MIB(30), MIB(30)), DROPS(0, MIB(30)), TAKES(MIB(30), MIB(30))}},
    {"a block up to 1 MiB larger is kept whole",
     {.kind = MS_ALLOCATOR_CUDA},
     MIB(30),
     0,
     {TAKES(MIB(30), MIB(30)), DROPS(0, MIB(30)), TAKES(MIB(29), MIB(30))}},
    {"a larger one is split and serves two",
     {.kind = MS_ALLOCATOR_CUDA},
     MIB(30),
     0,
     {TAKES(MIB(30), MIB(30)), DROPS(0, MIB(30)), TAKES(MIB(18), MIB(30)),
      TAKES(MIB(12), MIB(30))}},
    {"free neighbours merge",
     {.kind = MS_ALLOCATOR_CUDA},
     MIB(18),
     0,
     {TAKES(MIB(6), MIB(20)), TAKES(MIB(6), MIB(20)), TAKES(MIB(6), MIB(20)), DROPS(0, MIB(20)),
      DROPS(2, MIB(20)), DROPS(1, MIB(20)), TAKES(MIB(18), MIB(20))}},
    {"best fit takes the smallest",
     {.kind = MS_ALLOCATOR_CUDA},
     MIB(40) + MIB(12),
     0,
     {TAKES(MIB(40), MIB(40)), TAKES(MIB(12), MIB(52)), DROPS(0, MIB(52)), DROPS(1, MIB(52)),
      TAKES(MIB(12), MIB(52)), TAKES(MIB(40), MIB(52))}},
    {"pools do not mix sizes",
     {.kind = MS_ALLOCATOR_CUDA},
     512,
     0,
     {TAKES(MIB(30), MIB(30)), DROPS(0, MIB(30)), TAKES(1, MIB(32))}},
    {"streams do not share",
     {.kind = MS_ALLOCATOR_CUDA},
     MIB(30),
     0,
     {TAKES(MIB(30), MIB(30)), DROPS(0, MIB(30)), ON_STREAM_1(MIB(30), MIB(60))}},
    {"a full device gives cached segments back",
     {.kind = MS_ALLOCATOR_CUDA, .capacity_bytes = MIB(64)},
     MIB(50),
     1,
     {TAKES(MIB(30), MIB(30)), DROPS(0, MIB(30)), TAKES(MIB(50), MIB(50))}},
    {"a partly used segment stays",
     {.kind = MS_ALLOCATOR_CUDA, .capacity_bytes = MIB(64)},
     MIB(6),
     1,
     {TAKES(MIB(6), MIB(20)), TAKES(MIB(8), MIB(20)), DROPS(1, MIB(20)), FAILS(MIB(50), MIB(20))}},
    {"exactly full is fine",
     {.kind = MS_ALLOCATOR_CUDA, .capacity_bytes = MIB(64)},
     MIB(64),
     0,
     {TAKES(MIB(64), MIB(64))}},
    {"larger than the device",
     {.kind = MS_ALLOCATOR_CUDA, .capacity_bytes = MIB(64)},
     0,
     1,
     {FAILS(MIB(64) + 1, 0)}},
    {"raw knows its capacity",
     {.kind = MS_ALLOCATOR_RAW, .capacity_bytes = 100},
     60,
     0,
     {TAKES(60, 60), FAILS(41, 60), TAKES(40, 100), DROPS(1, 60)}},
    {"large blocks are kept from small requests",
     {.kind = MS_ALLOCATOR_CUDA, .max_split_size_bytes = MIB(32)},
     MIB(30),
     0,
     {TAKES(MIB(40), MIB(40)), DROPS(0, MIB(40)), TAKES(MIB(30), MIB(70))}},
    {"an oversize block is released before all others",
     {.kind = MS_ALLOCATOR_CUDA, .max_split_size_bytes = MIB(32), .capacity_bytes = MIB(100)},
     MIB(60),
     0,
     {TAKES(MIB(12), MIB(12)), TAKES(MIB(80), MIB(92)), DROPS(0, MIB(92)), DROPS(1, MIB(92)),
      TAKES(MIB(60), MIB(72))}},
    {"expandable grows by the missing pages",
     {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE},
     MIB(50),
     0,
     {TAKES(MIB(30), MIB(40)), DROPS(0, MIB(40)), TAKES(MIB(50), MIB(60))}},
    {"expandable uses the block at the tail last",
     {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE},
     MIB(22),
     0,
     {TAKES(MIB(12), MIB(20)), TAKES(MIB(2), MIB(20)), DROPS(0, MIB(20)), TAKES(MIB(6), MIB(20)),
      TAKES(MIB(6), MIB(20)), TAKES(MIB(8), MIB(40))}},
    {"expandable gives whole free pages back",
     {.kind = MS_ALLOCATOR_CUDA_EXPANDABLE, .capacity_bytes = MIB(64)},
     MIB(7),
     1,
     {TAKES(MIB(2), MIB(20)), TAKES(MIB(50), MIB(60)), DROPS(1, MIB(60)), TAKES(MIB(1), MIB(62)),
      TAKES(MIB(1), MIB(62)), TAKES(MIB(1), MIB(64)), TAKES(MIB(1), MIB(64)),
      TAKES(MIB(1), MIB(26))}},
};

static void run_action(ms_allocator *a, const action *step, ms_block *blocks, uint32_t *taken)
{
    switch (step->verb) {
    case TAKE:
    case OTHER_STREAM:
        assert_int_equal(
            ms_allocator_allocate(a, step->bytes, step->verb == OTHER_STREAM, &blocks[(*taken)++]),
            MS_OK);
        break;
    case FAIL:
        assert_int_equal(ms_allocator_allocate(a, step->bytes, 0, &blocks[*taken]),
                         MS_ERR_OVER_BUDGET);
        assert_int_equal(blocks[*taken], 0);
        break;
    case DROP:
        ms_allocator_release(a, blocks[step->which]);
        break;
    case STOP:
        break;
    }
}

static void check_script(void **state)
{
    const script *c = *state;
    ms_allocator *a = ms_allocator_create(&c->options);
    assert_non_null(a);
    const ms_allocator_stats *stats = ms_allocator_stats_of(a);
    ms_block blocks[COUNT_OF(c->actions)] = {0};
    uint32_t taken = 0; /* a zero verb ends the list; none is as long as its array */
    for (const action *step = c->actions; step->verb != STOP; step++) {
        run_action(a, step, blocks, &taken);
        assert_int_equal(stats->reserved_bytes, step->reserved_bytes);
    }
    assert_int_equal(stats->allocated_bytes, c->allocated_bytes);
    assert_int_equal(stats->retries, c->retries);
    ms_allocator_free(a);
}

/* ---- the rest ---- */

static void lifted_capacity(void **state)
{
    (void)state;
    for (int kind = 0; kind < MS_ALLOCATOR_COUNT; kind++) {
        ms_allocator_options options = {.kind = (ms_allocator_kind)kind, .capacity_bytes = MIB(64)};
        ms_allocator *a = ms_allocator_create(&options);
        assert_non_null(a);
        ms_block block;
        assert_int_equal(ms_allocator_allocate(a, MIB(100), 0, &block), MS_ERR_OVER_BUDGET);
        ms_allocator_lift_capacity(a);
        assert_int_equal(ms_allocator_allocate(a, MIB(100), 0, &block), MS_OK);
        assert_int_equal(ms_allocator_stats_of(a)->reserved_bytes, MIB(100));
        ms_allocator_free(a);
    }
}

static void sizes_beyond_the_address_space(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 511, (UINT64_C(1) << 62) + 1};
    for (int kind = 0; kind < MS_ALLOCATOR_COUNT; kind++) {
        ms_allocator_options options = {.kind = (ms_allocator_kind)kind};
        ms_allocator *a = ms_allocator_create(&options);
        assert_non_null(a);
        ms_block block;
        for (size_t i = 0; i < COUNT_OF(sizes); i++)
            assert_int_equal(ms_allocator_allocate(a, sizes[i], 0, &block), MS_ERR_OVERFLOW);
        assert_int_equal(ms_allocator_allocate(a, MIB(2), 0, &block), MS_OK);
        ms_allocator_free(a);
    }
}

/* Many free blocks, of few and of many sizes: everything taken is found again, nothing is lost. */
static void many_free_blocks(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    ms_allocator_options options = {.kind = MS_ALLOCATOR_CUDA};
    ms_allocator *a = ms_allocator_create(&options);
    ms_block *blocks = malloc(COUNT * sizeof *blocks);
    assert_non_null(a);
    assert_non_null(blocks);
    uint64_t reserved_bytes = 0;
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            uint64_t bytes = i % 2 ? 4096 : 512 * (UINT64_C(1) + i * 7919 % 97);
            assert_int_equal(ms_allocator_allocate(a, bytes, 0, &blocks[i]), MS_OK);
        }
        if (round == 1)
            reserved_bytes = ms_allocator_stats_of(a)->reserved_bytes;
        for (uint32_t i = 0; i < COUNT; i += 2)
            ms_allocator_release(a, blocks[i]);
        for (uint32_t i = 1; i < COUNT; i += 2)
            ms_allocator_release(a, blocks[i]);
        assert_int_equal(ms_allocator_stats_of(a)->allocated_bytes, 0);
        assert_int_equal(ms_allocator_stats_of(a)->inactive_split_bytes, 0);
    }
    assert_int_equal(ms_allocator_stats_of(a)->reserved_bytes, reserved_bytes);
    free(blocks);
    ms_allocator_free(a);
}

/* Addresses relative to the first block's; sizes of blocks that keep a segment each. */
typedef struct address_case {
    const char *label;
    ms_allocator_options options;
    uint64_t bytes[3];
    int64_t at[3];
} address_case;

#define DOWN                                                                                       \
    {                                                                                              \
        .kind = MS_ALLOCATOR_CUDA, .addresses = MS_ADDRESSES_DOWN                                  \
    }

/* clang-format off */
static const address_case address_cases[] = {
    {"upwards",                    CUDA, {MIB(20), MIB(32), MIB(64)}, {0, MIB(20), MIB(52)}},
    {"downwards",                  DOWN, {MIB(20), MIB(32), MIB(64)}, {0, -(int64_t)MIB(32), -(int64_t)MIB(96)}},
    {"small segments go upwards",  DOWN, {MIB(1), MIB(20), MIB(1) - 512}, {0, -(int64_t)MIB(20), MIB(1)}},
    {"the next of them too",       DOWN, {MIB(1), MIB(1), MIB(1)}, {0, MIB(1), MIB(2)}},
};
/* clang-format on */

static void check_addresses(void **state)
{
    const address_case *c = *state;
    ms_allocator *a = ms_allocator_create(&c->options);
    assert_non_null(a);
    uint64_t first = 0;
    for (int i = 0; i < 3; i++) {
        ms_block block = 0;
        assert_int_equal(ms_allocator_allocate(a, c->bytes[i], 0, &block), MS_OK);
        uint64_t address = ms_allocator_block_address(a, block);
        first = i ? first : address;
        assert_true((int64_t)(address - first) == c->at[i]);
    }
    ms_allocator_free(a);
}

int main(void)
{
    const struct CMUnitTest others[] = {
        cmocka_unit_test(lifted_capacity),
        cmocka_unit_test(sizes_beyond_the_address_space),
        cmocka_unit_test(many_free_blocks),
    };
    int failed = run_rows("first request", check_first_request, first_requests);
    failed += run_rows("requests in a row", check_script, scripts);
    failed += run_rows("addresses", check_addresses, address_cases);
    failed += cmocka_run_group_tests_name("limits", others, NULL, NULL);
    return failed;
}
