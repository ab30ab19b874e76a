/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The host as a device: its capacity, what copies and products do, the order of streams, and times
 * at given rates.
 */
#include <math.h>

#include "hardware/replay/blas.h"
#include "sanitized.h"
#include "unit/backends.h"

#define MIB (UINT64_C(1) << 20)

#ifdef WATCHES_THREADS
#define LARGE_BYTES (UINT64_C(1) << 37)
#else
#define LARGE_BYTES (UINT64_C(1) << 44)
#endif

static const ms_backend_host_options real = {.capacity_bytes = 64 * MIB};
static ms_error err;

static void *at(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

static uint64_t reserve(ms_backend *b, uint64_t bytes)
{
    uint64_t address = 0;
    assert_int_equal(b->calls->reserve(b, MS_MEMORY_BACKED, bytes, &address, &err), MS_OK);
    return address;
}

static ms_backend_stream *stream_of(ms_backend *b)
{
    ms_backend_stream *stream = NULL;
    assert_int_equal(b->calls->open_stream(b, &stream, &err), MS_OK);
    return stream;
}

static ms_backend_event *event_of(ms_backend *b)
{
    ms_backend_event *event = NULL;
    assert_int_equal(b->calls->open_event(b, &event, &err), MS_OK);
    return event;
}

/* ---- memory ---- */

static uint64_t used_of(ms_backend *b)
{
    uint64_t bytes = 0;
    assert_int_equal(b->calls->used(b, &bytes, &err), MS_OK);
    return bytes;
}

static void the_capacity_is_kept(void **state)
{
    ms_backend *b = open_host(&real);
    ms_error full = {0};
    uint64_t second = 0;
    (void)state;
    uint64_t first = reserve(b, 40 * MIB);
    assert_int_equal(b->calls->reserve(b, MS_MEMORY_BACKED, 24 * MIB + 1, &second, &full),
                     MS_ERR_OVER_BUDGET);
    assert_non_null(strstr(full.text, "do not fit"));
    second = reserve(b, 24 * MIB);
    assert_int_equal(used_of(b), 64 * MIB);
    b->calls->release(b, MS_MEMORY_BACKED, first, 40 * MIB);
    assert_int_equal(used_of(b), 24 * MIB);
    b->calls->release(b, MS_MEMORY_BACKED, second, 24 * MIB);
    b->calls->close(b);
}

static void pages_count_when_they_are_mapped(void **state)
{
    ms_backend *b = open_host(&real);
    ms_error full = {0};
    uint64_t address = 0;
    (void)state;
    assert_int_equal(b->calls->reserve(b, MS_MEMORY_ADDRESSES, 2000 * MIB, &address, &err), MS_OK);
    assert_int_equal(address % MS_MEMORY_ALIGNMENT, 0);
    assert_int_equal(used_of(b), 0);
    assert_int_equal(b->calls->map(b, address + 20 * MIB, 40 * MIB, &err), MS_OK);
    memset(at(address + 20 * MIB), 1, 40 * MIB);
    assert_int_equal(used_of(b), 40 * MIB);
    assert_int_equal(b->calls->map(b, address, 40 * MIB, &full), MS_ERR_OVER_BUDGET);
    b->calls->unmap(b, address + 20 * MIB, 20 * MIB);
    assert_int_equal(used_of(b), 20 * MIB);
    assert_int_equal(b->calls->map(b, address + 20 * MIB, 20 * MIB, &err), MS_OK);
    assert_int_equal(*(char *)at(address + 20 * MIB), 0); /* what was there is gone */
    b->calls->unmap(b, address + 20 * MIB, 40 * MIB);
    b->calls->release(b, MS_MEMORY_ADDRESSES, address, 2000 * MIB);
    b->calls->close(b);
}

static long resident_pages(void)
{
    long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &size, &resident), 2);
    fclose(file);
    return resident;
}

/* Memory is given in whole pages, and is there before it is first written. */
static void pages_are_counted_and_there(void **state)
{
    enum { PAGE = 4096 };
    ms_backend *b = open_host(&real);
    (void)state;
    uint64_t small = reserve(b, 100);
    assert_int_equal(used_of(b), PAGE);
    long before = resident_pages();
    uint64_t large = reserve(b, 32 * MIB);
    assert_true((uint64_t)(resident_pages() - before) * PAGE >= 31 * MIB);
    b->calls->release(b, MS_MEMORY_BACKED, large, 32 * MIB);
    assert_true((uint64_t)(resident_pages() - before) * PAGE < 16 * MIB);
    b->calls->release(b, MS_MEMORY_BACKED, small, 100);
    assert_int_equal(used_of(b), 0);
    b->calls->close(b);
}

static void more_than_the_machine_has_is_refused(void **state)
{
    ms_backend *b = NULL;
    ms_error refused = {0};
    const ms_backend_host_options options = {.capacity_bytes = UINT64_C(1) << 50};
    const ms_backend_host_options untouched = {.capacity_bytes = UINT64_C(1) << 50,
                                               .skips_data = true};
    (void)state;
    assert_int_equal(ms_replay_host_open(&options, &b, &refused), MS_ERR_USAGE);
    assert_null(b);
    assert_non_null(strstr(refused.text, "exceeds"));
    b = open_host(&untouched);
    assert_true(b->facts.is_simulated);
    uint64_t address = reserve(b, LARGE_BYTES);
    b->calls->release(b, MS_MEMORY_BACKED, address, LARGE_BYTES);
    b->calls->close(b);
}

/* ---- copies and streams ---- */

static void copies_carry_bytes(void **state)
{
    ms_backend *b = open_host(&real);
    ms_backend_stream *s = stream_of(b);
    void *host = NULL;
    (void)state;
    assert_int_equal(b->calls->pin(b, MIB, true, &host, &err), MS_OK);
    uint64_t device = reserve(b, 2 * MIB);
    memset(host, 7, MIB);
    b->calls->copy(b, s, MS_COPY_TO_DEVICE, device, (uintptr_t)host, MIB, &err);
    b->calls->copy(b, s, MS_COPY_ON_DEVICE, device + MIB, device, MIB, &err);
    b->calls->synchronize(b, s, &err);
    memset(host, 0, MIB);
    b->calls->copy(b, s, MS_COPY_TO_HOST, (uintptr_t)host, device + MIB, MIB, &err);
    b->calls->synchronize(b, NULL, &err);
    for (size_t i = 0; i < MIB; i += 4095)
        assert_int_equal(((char *)host)[i], 7);
    b->calls->unpin(b, host, MIB, true);
    b->calls->release(b, MS_MEMORY_BACKED, device, 2 * MIB);
    b->calls->close_stream(b, s);
    b->calls->close(b);
}

/* A baton that two streams hand to each other through one event each: every round must see what
 * the round before wrote. */
static void events_order_streams(void **state)
{
    enum { ROUNDS = 500 };
    ms_backend *b = open_host(&real);
    ms_backend_stream *s[2] = {stream_of(b), stream_of(b)};
    ms_backend_event *e[2] = {event_of(b), event_of(b)};
    uint64_t device = reserve(b, (ROUNDS + 1) * 64);
    (void)state;
    memset(at(device), 5, 64);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t from = device + (uint64_t)i * 64;
        if (i > 0)
            b->calls->wait(b, e[(i + 1) % 2], s[i % 2], &err);
        b->calls->copy(b, s[i % 2], MS_COPY_ON_DEVICE, from + 64, from, 64, &err);
        b->calls->record(b, e[i % 2], s[i % 2], &err);
    }
    b->calls->synchronize(b, NULL, &err);
    for (int i = 0; i <= ROUNDS; i++)
        assert_int_equal(*((char *)at(device) + i * 64), 5);
    for (int i = 0; i < 2; i++) {
        b->calls->close_stream(b, s[i]);
        b->calls->close_event(b, e[i]);
    }
    b->calls->release(b, MS_MEMORY_BACKED, device, (ROUNDS + 1) * 64);
    b->calls->close(b);
}

static void an_event_that_was_never_recorded_holds_nobody(void **state)
{
    ms_backend *b = open_host(&real);
    ms_backend_stream *s = stream_of(b);
    ms_backend_event *never = event_of(b), *then = event_of(b);
    ms_error missing = {0};
    double ms = 0;
    (void)state;
    b->calls->wait(b, never, s, &err);
    b->calls->record(b, then, s, &err);
    b->calls->synchronize(b, s, &err);
    assert_int_equal(b->calls->elapsed(b, never, then, &ms, &missing), MS_ERR_INTERNAL);
    b->calls->close_stream(b, s);
    b->calls->close_event(b, never);
    b->calls->close_event(b, then);
    b->calls->close(b);
}

static void a_backend_has_so_many_streams(void **state)
{
    enum { MOST = 16 };
    ms_backend *b = open_host(&real);
    ms_backend_stream *s[MOST + 1] = {NULL};
    ms_error refused = {0};
    (void)state;
    for (int i = 0; i < MOST; i++)
        s[i] = stream_of(b);
    assert_int_equal(b->calls->open_stream(b, &s[MOST], &refused), MS_ERR_LIMIT);
    for (int i = 0; i < MOST; i++)
        b->calls->close_stream(b, s[i]);
    b->calls->close(b);
}

/* ---- idle streams, and stopped ones ---- */

static void rest(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* What lies between two pieces of work is no part of either, and of none before the first. */
static void idle_time_is_not_counted(void **state)
{
    enum { RESTS = 2, REST_MS = 250 };
    ms_backend *b = open_host(&real);
    ms_backend_stream *s = stream_of(b);
    uint64_t device = reserve(b, 2 * MIB);
    double ms;
    (void)state;
    for (int i = 0; i < RESTS; i++) {
        ms_backend_event *begin = event_of(b), *end = event_of(b);
        rest(REST_MS);
        b->calls->record(b, begin, s, &err);
        b->calls->copy(b, s, MS_COPY_ON_DEVICE, device + MIB, device, MIB, &err);
        b->calls->record(b, end, s, &err);
        b->calls->synchronize(b, s, &err);
        assert_int_equal(b->calls->elapsed(b, begin, end, &ms, &err), MS_OK);
        assert_true(ms >= 0 && ms < REST_MS - 50);
        b->calls->close_event(b, begin);
        b->calls->close_event(b, end);
    }
    b->calls->close_stream(b, s);
    b->calls->release(b, MS_MEMORY_BACKED, device, 2 * MIB);
    b->calls->close(b);
}

/* A copy of hours, and a product of minutes: both are given up. */
static void a_stopped_stream_is_soon_done(void **state)
{
    enum { SIDE = 2048, MOST_MS = 20000 };
    ms_stop stop = 0;
    const ms_backend_host_options slow = {
        .capacity_bytes = 64 * MIB, .to_device_bytes = 1, .has_no_blas = true, .stop = &stop};
    ms_backend *b = open_host(&slow);
    ms_backend_stream *s[2] = {stream_of(b), stream_of(b)};
    uint64_t device = reserve(b, 50 * MIB);
    const ms_backend_product product = {
        1, SIDE, SIDE, SIDE, device, device + 16 * MIB, device + 32 * MIB, MS_DTYPE_F32, false};
    char host[4096] = {0};
    (void)state;
    b->calls->copy(b, s[0], MS_COPY_TO_DEVICE, device + 48 * MIB, (uintptr_t)host, sizeof host,
                   &err);
    for (int i = 0; i < 100; i++)
        b->calls->product(b, s[1], &product, &err);
    rest(20);
    double begin_ms = ms_now_ms();
    atomic_store(&stop, 1);
    assert_int_equal(b->calls->synchronize(b, NULL, &err), MS_OK);
    assert_true(ms_now_ms() - begin_ms < MOST_MS);
    for (int i = 0; i < 2; i++)
        b->calls->close_stream(b, s[i]);
    b->calls->release(b, MS_MEMORY_BACKED, device, 50 * MIB);
    b->calls->close(b);
}

/* ---- products ---- */

typedef struct product_case {
    const char *label;
    ms_blas_shape shape;
    bool transposed, has_library;
} product_case;

/* 1 + small whole numbers, which every element type holds exactly. */
static double element(uint64_t i)
{
    return (double)(i * 7 % 5) - 1;
}

static void put(void *items, uint64_t i, ms_dtype dtype, double value)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (dtype == MS_DTYPE_F32)
        ((float *)items)[i] = f;
    else if (dtype == MS_DTYPE_F64)
        ((double *)items)[i] = value;
    else if (dtype == MS_DTYPE_BF16)
        ((uint16_t *)items)[i] = (uint16_t)(bits >> 16);
    else /* of whole numbers */
        ((uint16_t *)items)[i] =
            f == 0 ? 0
                   : (uint16_t)((bits >> 16 & 0x8000) | ((bits >> 23 & 255) - 112) << 10 |
                                (bits >> 13 & 1023));
}

static double get(const void *items, uint64_t i, ms_dtype dtype)
{
    uint32_t bits = (uint32_t)((const uint16_t *)items)[i] << 16;
    float f;
    if (dtype == MS_DTYPE_F32)
        return (double)((const float *)items)[i];
    if (dtype == MS_DTYPE_F64)
        return ((const double *)items)[i];
    if (dtype == MS_DTYPE_F16) {
        uint16_t half = ((const uint16_t *)items)[i];
        if ((half & 0x7fff) == 0)
            return 0;
        bits = (uint32_t)(half & 0x8000) << 16 | (uint32_t)((half >> 10 & 31) + 112) << 23 |
               (uint32_t)(half & 1023) << 13;
    }
    memcpy(&f, &bits, sizeof f);
    return (double)f;
}

static void check_product(void **state)
{
    const product_case *c = *state;
    const ms_blas_shape *s = &c->shape;
    ms_blas *blas = ms_replay_blas_open(c->has_library, NULL);
    uint64_t bytes = ms_dtype_bytes(s->dtype);
    void *a = malloc(s->rows * s->inner * bytes), *b = malloc(s->inner * s->columns * bytes);
    void *got = malloc(s->rows * s->columns * bytes), *tiles = malloc(ms_replay_blas_tile_bytes());
    for (uint64_t i = 0; i < s->rows; i++)
        for (uint64_t k = 0; k < s->inner; k++)
            put(a, c->transposed ? k * s->rows + i : i * s->inner + k, s->dtype,
                element(i * s->inner + k));
    for (uint64_t i = 0; i < s->inner * s->columns; i++)
        put(b, i, s->dtype, element(3 * i + 1));
    ms_replay_blas_multiply(blas, s, (ms_blas_matrix){a, c->transposed}, (ms_blas_matrix){b, false},
                            got, tiles);
    for (uint64_t i = 0; i < s->rows; i += 1 + s->rows / 7)
        for (uint64_t j = 0; j < s->columns; j += 1 + s->columns / 7) {
            double sum = 0;
            for (uint64_t k = 0; k < s->inner; k++)
                sum += element(i * s->inner + k) * element(3 * (k * s->columns + j) + 1);
            double found = get(got, i * s->columns + j, s->dtype);
            /* bf16 keeps eight bits, and the last is cut off */
            double allowed = s->dtype == MS_DTYPE_BF16  ? fabs(sum) / 128
                             : s->dtype == MS_DTYPE_F16 ? fabs(sum) / 1024
                                                        : 0;
            assert_true(fabs(found - sum) <= allowed);
        }
    free(a);
    free(b);
    free(got);
    free(tiles);
    ms_replay_blas_close(blas);
}

static const product_case products[] = {
    {"fp32, a plain loop", {17, 33, 9, MS_DTYPE_F32}, false, false},
    {"fp32, a library", {17, 33, 9, MS_DTYPE_F32}, false, true},
    {"fp32, transposed, a library", {40, 30, 20, MS_DTYPE_F32}, true, true},
    {"fp32, several tiles, transposed", {400, 390, 410, MS_DTYPE_F32}, true, false},
    {"fp32, several tiles, a library", {400, 800, 500, MS_DTYPE_F32}, false, true},
    {"bf16", {50, 60, 70, MS_DTYPE_BF16}, false, true},
    {"bf16, transposed, several tiles", {390, 400, 385, MS_DTYPE_BF16}, true, true},
    {"fp16", {50, 60, 70, MS_DTYPE_F16}, false, false},
    {"fp64", {50, 60, 70, MS_DTYPE_F64}, true, true},
    {"one element", {1, 1, 1, MS_DTYPE_BF16}, false, false},
};

/* ---- times ---- */

typedef struct rate_case {
    const char *label;
    ms_backend_host_options options;
    bool is_exact; /* counted; else slept, on a machine that does other things too */
} rate_case;

/* 1 MiB each way at 100 MB/s and 50 MB/s on two streams at once, then a product and traffic. */
static void times_follow_the_rates(void **state)
{
    const rate_case *c = *state;
    ms_backend *b = open_host(&c->options);
    ms_backend_stream *in = stream_of(b), *out = stream_of(b);
    ms_backend_event *e[6];
    void *host = NULL;
    const double copy_ms = (double)MIB / 1e5;
    double ms[3];
    for (int i = 0; i < 6; i++)
        e[i] = event_of(b);
    b->calls->pin(b, 2 * MIB, false, &host, &err);
    uint64_t device = reserve(b, 4 * MIB);
    b->calls->record(b, e[0], in, &err);
    b->calls->record(b, e[1], out, &err);
    b->calls->copy(b, in, MS_COPY_TO_DEVICE, device, (uintptr_t)host, MIB, &err);
    b->calls->copy(b, out, MS_COPY_TO_HOST, (uintptr_t)host + MIB, device + MIB, MIB, &err);
    b->calls->record(b, e[2], in, &err);
    b->calls->record(b, e[3], out, &err);
    b->calls->wait(b, e[3], in, &err);
    b->calls->traffic(b, in, &(ms_backend_traffic){device, MIB, device + 2 * MIB, 2 * MIB, 4 * MIB},
                      &err);
    b->calls->record(b, e[4], in, &err);
    b->calls->synchronize(b, NULL, &err);
    assert_int_equal(b->calls->elapsed(b, e[0], e[2], &ms[0], &err), MS_OK);
    assert_int_equal(b->calls->elapsed(b, e[1], e[3], &ms[1], &err), MS_OK);
    assert_int_equal(b->calls->elapsed(b, e[3], e[4], &ms[2], &err), MS_OK);
    const double wanted[] = {copy_ms, 2 * copy_ms, 2 * copy_ms};
    for (int i = 0; i < 3; i++) {
        assert_true(ms[i] >= wanted[i] * (1 - 1e-9));
        assert_true(ms[i] <= wanted[i] * (c->is_exact ? 1 + 1e-9 : 1000));
    }
    for (int i = 0; i < 6; i++)
        b->calls->close_event(b, e[i]);
    b->calls->close_stream(b, in);
    b->calls->close_stream(b, out);
    b->calls->release(b, MS_MEMORY_BACKED, device, 4 * MIB);
    b->calls->unpin(b, host, 2 * MIB, false);
    b->calls->close(b);
}

#define RATES .to_device_bytes = 1e8, .to_host_bytes = 5e7, .traffic_bytes = 2e8
static const rate_case rates[] = {
    {"counted", {.capacity_bytes = 64 * MIB, .skips_data = true, RATES}, true},
    {"slept", {.capacity_bytes = 64 * MIB, RATES}, false},
};

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(products) + COUNT_OF(rates) + 10] = {
        cmocka_unit_test(the_capacity_is_kept),
        cmocka_unit_test(pages_count_when_they_are_mapped),
        cmocka_unit_test(more_than_the_machine_has_is_refused),
        cmocka_unit_test(copies_carry_bytes),
        cmocka_unit_test(events_order_streams),
        cmocka_unit_test(an_event_that_was_never_recorded_holds_nobody),
        cmocka_unit_test(a_backend_has_so_many_streams),
        cmocka_unit_test(pages_are_counted_and_there),
        cmocka_unit_test(idle_time_is_not_counted),
        cmocka_unit_test(a_stopped_stream_is_soon_done),
    };
    size_t count = 10;
    count += ADD_ROWS(tests + count, check_product, products);
    count += ADD_ROWS(tests + count, times_follow_the_rates, rates);
    return _cmocka_run_group_tests("the host backend", tests, count, NULL, NULL);
}
