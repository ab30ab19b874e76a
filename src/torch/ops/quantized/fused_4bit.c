/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * When bitsandbytes 0.50 multiplies with packed weights without dequantising them
 * (backends/cuda/ops.py): up to a number of input rows that depends on the device, the weight's
 * shape, and how often its blocks of 64 outputs fill the device's multiprocessors.
 */
#include "torch/ops/quantized/fused_4bit.h"

enum {
    ALWAYS_ROWS = 4,
    VECTOR_ROWS = 7, /* a kernel without tensor cores */
    MOST_ROWS = 1536,
    MOST_ROWS_OF_LARGE = 512,
    SMALL_WEIGHT = 4 << 20,
    BLOCK_OUTPUTS = 64,
    SCALE_BLOCK = 64
};

typedef enum arch {
    TURING = 1 << 0,
    A100 = 1 << 1,
    AMPERE = 1 << 2, /* 8.6 */
    HOPPER = 1 << 3,
    BLACKWELL = 1 << 4, /* 10.x */
    RTX_50 = 1 << 5,    /* 12.0 */
    SPARK = 1 << 6,     /* 12.1 */
    OTHERS = 1 << 7,    /* 8.9 above all */
    MEASURED_NOT = 1 << 8
} arch;

static arch arch_of(uint32_t capability)
{
    switch (capability) {
    case 75:
        return TURING;
    case 80:
        return A100;
    case 86:
        return AMPERE;
    case 120:
        return RTX_50;
    case 121:
        return SPARK;
    case 87:
        return MEASURED_NOT;
    default:
        break;
    }
    if (capability / 10 == 9)
        return HOPPER;
    if (capability / 10 == 10)
        return BLACKWELL;
    return capability / 10 == 11 ? MEASURED_NOT : OTHERS;
}

/* What is true of a weight of N outputs and K inputs, in B blocks, on S multiprocessors. */
enum {
    ANY = 0,
    B_3S = 1 << 0,        /* B >= 3 S */
    B_2S = 1 << 1,        /* B >= 2 S */
    B_S = 1 << 2,         /* B >= S */
    B_4S_5 = 1 << 3,      /* B >= 4/5 S */
    B_HALF = 1 << 4,      /* B >= S / 2, rounded down */
    BELOW_HALF = 1 << 5,  /* B < S / 2 */
    UP_TO_HALF = 1 << 6,  /* B <= S / 2 */
    B_THIRD = 1 << 7,     /* B >= S / 3 */
    BELOW_THIRD = 1 << 8, /* B < S / 3 */
    BELOW_60 = 1 << 9,    /* B < 3/5 S */
    BELOW_75 = 1 << 10,   /* B < 3/4 S */
    ABOVE_QUARTER = 1 << 11,
    UP_TO_QUARTER = 1 << 12,
    UP_TO_EIGHTH = 1 << 13,
    BELOW_S = 1 << 14,
    LONG = 1 << 15,       /* K >= N */
    WIDE = 1 << 16,       /* K < N */
    SQUARE = 1 << 17,     /* K == N */
    TALL = 1 << 18,       /* K > N */
    NOT_TALL = 1 << 19,   /* K <= N */
    TALL_2 = 1 << 20,     /* K > 2 N */
    TALL_3 = 1 << 21,     /* K >= 3 N */
    K_HALF = 1 << 22,     /* K >= N / 2 */
    FROM_48 = 1 << 23,    /* B >= 48 */
    BELOW_48 = 1 << 24,   /* B < 48 */
    UP_TO_48 = 1 << 25,   /* B <= 48 */
    FROM_64 = 1 << 26,    /* B >= 64 */
    FROM_65 = 1 << 27,    /* B > 64 */
    FROM_128 = 1 << 28,   /* B >= 128 */
    FROM_200 = 1 << 29,   /* B >= 200 */
    MANY_UNITS = 1 << 30, /* S >= 60 */
};

typedef enum regime {
    SHORT_SUM = 1, /* a small weight, K < N / 2 */
    SMALL = 2,     /* any other small one */
    LARGE = 4
} regime;

typedef struct tier {
    unsigned archs, regimes, holds;
    uint32_t most_rows;
} tier;

/* The first that holds counts; where none does, nothing is fused. */
static const tier tiers[] = {
    {BLACKWELL, SHORT_SUM | SMALL | LARGE, B_3S, 32},
    {BLACKWELL, SHORT_SUM | SMALL | LARGE, B_S | WIDE, 8},

    {A100, SHORT_SUM, BELOW_THIRD, 1536},
    {A100, SHORT_SUM, ANY, 512},
    {HOPPER, SHORT_SUM, BELOW_THIRD, 512},
    {HOPPER, SHORT_SUM, ANY, 320},
    {A100, SMALL, UP_TO_EIGHTH | LONG, 32},
    {A100, SMALL, UP_TO_QUARTER | LONG, 128},
    {A100, SMALL, UP_TO_QUARTER, 384},
    {TURING, SMALL, BELOW_S, 64},
    {HOPPER, SMALL, UP_TO_QUARTER, 32},
    {AMPERE | OTHERS | RTX_50 | SPARK, SMALL, UP_TO_QUARTER | WIDE, 32},
    {AMPERE | OTHERS | RTX_50 | SPARK, SMALL, UP_TO_QUARTER, 23},
    {A100 | HOPPER | AMPERE | OTHERS | RTX_50 | SPARK, SMALL, UP_TO_HALF, 16},

    {TURING, LARGE, B_3S | WIDE, 128},
    {TURING, LARGE, B_HALF, 64},
    {TURING, LARGE, ANY, 32},
    {A100, LARGE, B_3S, 128},
    {A100, LARGE, B_S | WIDE, 64},
    {A100, LARGE, B_S, 32},
    {A100, LARGE, TALL_3 | ABOVE_QUARTER, 0},
    {A100, LARGE, SQUARE | FROM_48 | BELOW_60, 0},
    {A100, LARGE, BELOW_HALF | NOT_TALL, 128},
    {A100, LARGE, BELOW_HALF | B_THIRD, 0},
    {A100, LARGE, B_HALF | WIDE, 128},
    {A100, LARGE, ANY, 16},
    {AMPERE, LARGE, B_S, 128},
    {AMPERE, LARGE, B_HALF, 64},
    {AMPERE, LARGE, ANY, 16},
    {HOPPER, LARGE, B_3S, 64},
    {HOPPER, LARGE, B_2S, 48},
    {HOPPER, LARGE, B_S, 32},
    {HOPPER, LARGE, B_HALF | LONG | BELOW_75, 0},
    {HOPPER, LARGE, B_HALF, 16},
    {SPARK, LARGE, B_S, 256},
    {RTX_50, LARGE, B_3S, 256},
    {RTX_50, LARGE, B_2S, 128},
    {RTX_50, LARGE, B_4S_5 | LONG, 96},
    {RTX_50, LARGE, B_4S_5, 64},
    {RTX_50, LARGE, B_HALF | K_HALF | FROM_128, 64},
    {RTX_50, LARGE, B_HALF, 8},
    {RTX_50, LARGE, TALL_2 | FROM_65, 16},
    {RTX_50, LARGE, ANY, 8},
    {OTHERS | SPARK, LARGE, B_3S, 256},
    {OTHERS | SPARK, LARGE, B_2S, 128},
    {OTHERS | SPARK, LARGE, B_4S_5 | TALL_2, 128},
    {OTHERS | SPARK, LARGE, B_4S_5 | FROM_200, 128},
    {OTHERS | SPARK, LARGE, B_4S_5 | LONG | MANY_UNITS, 128},
    {OTHERS | SPARK, LARGE, B_4S_5 | LONG, 32},
    {OTHERS | SPARK, LARGE, B_4S_5, 64},
    {OTHERS | SPARK, LARGE, B_HALF | TALL_2, 64},
    {OTHERS | SPARK, LARGE, B_HALF | FROM_64, 8},
    {OTHERS | SPARK, LARGE, B_HALF, 32},
    {OTHERS | SPARK, LARGE, UP_TO_48 | TALL_3, 12},
    {OTHERS | SPARK, LARGE, UP_TO_48 | TALL, 10},
    {OTHERS | SPARK, LARGE, TALL_2, 16},
    {OTHERS | SPARK, LARGE, BELOW_48, 16},
    {OTHERS | SPARK, LARGE, ANY, 8},
};

static unsigned facts_of(uint64_t n, uint64_t k, uint64_t b, uint64_t s)
{
    const struct {
        bool holds;
        unsigned fact;
    } rows[] = {
        {b >= 3 * s, B_3S},
        {b >= 2 * s, B_2S},
        {b >= s, B_S},
        {5 * b >= 4 * s, B_4S_5},
        {b >= s / 2, B_HALF},
        {2 * b < s, BELOW_HALF},
        {2 * b <= s, UP_TO_HALF},
        {3 * b >= s, B_THIRD},
        {3 * b < s, BELOW_THIRD},
        {5 * b < 3 * s, BELOW_60},
        {4 * b < 3 * s, BELOW_75},
        {4 * b > s, ABOVE_QUARTER},
        {4 * b <= s, UP_TO_QUARTER},
        {8 * b <= s, UP_TO_EIGHTH},
        {b < s, BELOW_S},
        {k >= n, LONG},
        {k < n, WIDE},
        {k == n, SQUARE},
        {k > n, TALL},
        {k <= n, NOT_TALL},
        {k > 2 * n, TALL_2},
        {k >= 3 * n, TALL_3},
        {2 * k >= n, K_HALF},
        {b >= 48, FROM_48},
        {b < 48, BELOW_48},
        {b <= 48, UP_TO_48},
        {b >= 64, FROM_64},
        {b > 64, FROM_65},
        {b >= 128, FROM_128},
        {b >= 200, FROM_200},
        {s >= 60, MANY_UNITS},
    };
    unsigned facts = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        facts |= rows[i].holds ? rows[i].fact : 0;
    return facts;
}

/* Short sums on the devices that go by more than the table's facts. */
static uint64_t most_rows_of_short(arch a, uint64_t k, uint64_t b, uint64_t s)
{
    if (a == TURING)
        return b >= 3 * s || k < 704 ? 320 : k >= 1024 ? 64 : 96;
    return b < s && b * k > s * 320 ? 192 : 320;
}

static bool few_rows_are_fused(arch a, uint64_t rows, uint64_t b, unsigned facts)
{
    if (rows < 6 || (a != A100 && a != HOPPER) || b < (a == HOPPER ? 36 : 48))
        return true;
    if ((facts & TALL) && (facts & BELOW_75))
        return false;
    if (!(facts & SQUARE))
        return true;
    return a == A100 ? !(facts & BELOW_60) : !(facts & BELOW_75) || (facts & BELOW_60);
}

static uint64_t most_rows(arch a, regime r, unsigned facts)
{
    for (size_t i = 0; i < sizeof tiers / sizeof tiers[0]; i++)
        if ((tiers[i].archs & a) && (tiers[i].regimes & r) &&
            (tiers[i].holds & facts) == tiers[i].holds)
            return tiers[i].most_rows;
    return 0;
}

static bool has_tensor_cores(uint32_t capability, ms_dtype dtype)
{
    return dtype != MS_DTYPE_F32 &&
           (capability >= 80 || (capability == 75 && dtype == MS_DTYPE_F16));
}

bool ms_is_fused_4bit(const ms_device *device, ms_dtype dtype, uint64_t rows, uint64_t out,
                      uint64_t in)
{
    enum { A100_MULTIPROCESSORS = 108 };
    uint64_t s = device->multiprocessors ? device->multiprocessors : A100_MULTIPROCESSORS;
    uint64_t b = (out + BLOCK_OUTPUTS - 1) / BLOCK_OUTPUTS;
    uint32_t capability = device->compute_capability;
    if (device->is_cpu || capability == 0 || rows > MOST_ROWS || in % SCALE_BLOCK != 0)
        return false;
    if (rows <= ALWAYS_ROWS)
        return true;
    if (!has_tensor_cores(capability, dtype))
        return rows <= VECTOR_ROWS;
    arch a = arch_of(capability);
    bool is_small = in < SMALL_WEIGHT / out + (SMALL_WEIGHT % out != 0);
    regime r = !is_small ? LARGE : in < out - in && in < out ? SHORT_SUM : SMALL;
    unsigned facts = facts_of(out, in, b, s);
    bool goes_by_table = (a & (A100 | HOPPER | BLACKWELL | MEASURED_NOT)) != 0;
    if (r == SHORT_SUM && !goes_by_table)
        return rows <= most_rows_of_short(a, in, b, s);
    if (a == TURING && r == SMALL && rows <= 8)
        return (facts & UP_TO_HALF) != 0;
    if (r == LARGE && rows > MOST_ROWS_OF_LARGE)
        return false;
    if (r == LARGE && rows <= VECTOR_ROWS && (a & (BLACKWELL | MEASURED_NOT)) == 0)
        return few_rows_are_fused(a, rows, b, facts);
    return rows <= most_rows(a, r, facts);
}
