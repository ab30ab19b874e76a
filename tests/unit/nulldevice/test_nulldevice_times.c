/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How far apart events are, on a device whose rates are those of the environment.
 */
#include "hardware/nulldevice/runtime_types.h"
#include "unit/nulldevice.h"

/* Of each launch, and the least between two events. */
#define LAUNCH_MS 5e-3
#define LEAST_MS 2.0

static int (*make_event)(void **), (*make_stream)(void **), (*record)(void *, void *);
static int (*elapsed)(float *, void *, void *), (*join)(void *, void *, unsigned);
static int (*set_stream)(void *, void *);
static void *begun, *ended, *stream;

static int open_with_rates(void **state)
{
    if (open_library(state) != 0)
        return -1;
    find("cudaEventCreate", &make_event);
    find("cudaStreamCreate", &make_stream);
    find("cudaEventRecord", &record);
    find("cudaEventElapsedTime", &elapsed);
    find("cudaStreamWaitEvent", &join);
    find("cublasSetStream_v2", &set_stream);
    make_event(&begun);
    make_event(&ended);
    make_stream(&stream);
    return 0;
}

static double between(void *first, void *second)
{
    float ms = -1;
    assert_int_equal(elapsed(&ms, first, second), OK);
    return (double)ms;
}

static void assert_near(const char *label, double found, double expected)
{
    if (!(found > 0.9999 * expected && found < 1.0001 * expected))
        fail_msg("%s: %g ms, expected %g", label, found, expected);
}

/* ---- work ---- */

static void launch(unsigned blocks)
{
    int (*call)(const void *, ms_null_dimensions, ms_null_dimensions, void **, size_t, void *);
    find("cudaLaunchKernel", &call);
    call(NULL, (ms_null_dimensions){blocks, 1, 1}, (ms_null_dimensions){1024, 1, 1}, NULL, 0,
         stream);
}

static void launch_triton(unsigned blocks)
{
    int (*call)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                void *, void **, void **);
    find("cuLaunchKernel", &call);
    call(NULL, blocks, 1, 1, 512, 2, 1, 0, stream, NULL, NULL);
}

static void fill(unsigned mib)
{
    int (*call)(void *, int, size_t, void *), (*allocate)(void **, size_t), (*release)(void *);
    void *a = NULL;
    find("cudaMalloc", &allocate);
    find("cudaFree", &release);
    find("cudaMemsetAsync", &call);
    allocate(&a, mib * MIB);
    call(a, 0, mib * MIB, stream);
    release(a);
}

static void copy_in(unsigned mib)
{
    int (*call)(void *, const void *, size_t, int, void *);
    int (*allocate)(void **, size_t), (*release)(void *);
    void *a = NULL, *host = calloc(mib, MIB);
    find("cudaMalloc", &allocate);
    find("cudaFree", &release);
    find("cudaMemcpyAsync", &call);
    assert_non_null(host);
    allocate(&a, mib * MIB);
    call(a, host, mib * MIB, 1, stream);
    release(a);
    free(host);
}

/* Square products; 14 is bfloat16 in cudaDataType_t, 0 float. */
static void multiply(unsigned side, int type, const char *name)
{
    int (*call)(void *, int, int, int, int, int, const void *, const void *, int);
    int n = (int)side;
    find(name, &call);
    set_stream(NULL, stream);
    call(NULL, 0, 0, n, n, n, NULL, NULL, type);
}

static void multiply_bf16(unsigned side)
{
    multiply(side, 14, "cublasGemmEx");
}

static void multiply_fp32(unsigned side)
{
    multiply(side, 0, "cublasSgemm_v2");
}

static void multiply_batch(unsigned count)
{
    int (*call)(void *, int, int, int, int, int, const void *, const void *, int, int, long long,
                const void *, int, int, long long, const void *, void *, int, int, long long, int,
                int, int);
    find("cublasGemmStridedBatchedEx", &call);
    set_stream(NULL, stream);
    call(NULL, 0, 0, 1024, 1024, 1024, NULL, NULL, 14, 1, 1, NULL, 14, 1, 1, NULL, NULL, 14, 1, 1,
         (int)count, 0, 0);
}

/* 8192 x 4096 by 4096 x 2048, of which the first operand is stored transposed. */
static void multiply_lt(unsigned count)
{
    int (*make)(void **, int, uint64_t, uint64_t, int64_t), (*release)(void *);
    int (*set)(void *, int, const void *, size_t);
    int (*call)(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                void *, void *, void *, void *, size_t, void *);
    void *a = NULL, *b = NULL, *d = NULL;
    find("cublasLtMatrixLayoutCreate", &make);
    find("cublasLtMatrixLayoutDestroy", &release);
    find("cublasLtMatrixLayoutSetAttribute", &set);
    find("cublasLtMatmul", &call);
    make(&a, 14, 4096, 8192, 4096);
    make(&b, 14, 4096, 2048, 4096);
    make(&d, 14, 8192, 2048, 8192);
    set(d, 5, &count, sizeof count);
    call(NULL, NULL, NULL, NULL, a, NULL, b, NULL, NULL, d, NULL, d, NULL, NULL, 0, stream);
    release(a);
    release(b);
    release(d);
}

typedef struct time_case {
    const char *label;
    void (*work)(unsigned amount);
    unsigned amount;
    double ms;
} time_case;

/* 16 bytes a thread at 1e12 a second; 2 m n k operations at 1e14, or 1e13 in 32 bits. */
static const time_case time_cases[] = {
    {"a launch alone", launch, 1, LEAST_MS},
    {"threads", launch, 1 << 20, LAUNCH_MS + 1e3 * 16 * (1 << 30) / 1e12},
    {"threads of a kernel compiled at run time", launch_triton, 1 << 20,
     LAUNCH_MS + 1e3 * 16 * (1 << 30) / 1e12},
    {"a small fill", fill, 4, LEAST_MS},
    {"over the link", copy_in, 32, LAUNCH_MS + 1e3 * 32 * (1 << 20) / 10e9},
    {"a product", multiply_bf16, 8192, LAUNCH_MS + 1e3 * 2 * 549755813888.0 / 100e12},
    {"a product in fp32", multiply_fp32, 4096, LAUNCH_MS + 1e3 * 2 * 68719476736.0 / 10e12},
    {"a small product", multiply_bf16, 64, LEAST_MS},
    {"many products", multiply_batch, 500, LAUNCH_MS + 500 * 1e3 * 2 * 1073741824.0 / 100e12},
    {"a product of cuBLASLt", multiply_lt, 2, LAUNCH_MS + 2 * 1e3 * 2 * 68719476736.0 / 100e12},
};

static void work_takes_what_its_roofline_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof time_cases / sizeof time_cases[0]; i++) {
        const time_case *c = &time_cases[i];
        record(begun, stream);
        c->work(c->amount);
        record(ended, stream);
        assert_near(c->label, between(begun, ended), c->ms);
    }
}

static void streams_have_clocks_of_their_own(void **state)
{
    void *other = NULL, *now = NULL;
    (void)state;
    make_stream(&other);
    make_event(&now);
    record(begun, other);
    multiply_bf16(8192); /* in the first stream: the other one has not gone on */
    record(now, other);
    assert_near("beside it", between(begun, now), LEAST_MS);
    record(begun, stream);
    record(now, other);
    assert_near("backward", between(begun, now), LEAST_MS);
    multiply_bf16(8192);
    record(ended, stream);
    join(other, ended, 0);
    record(now, other);
    assert_near("after it", between(begun, now), 10.9951 + LAUNCH_MS);
}

static void a_graph_takes_what_it_captured(void **state)
{
    int (*begin)(void *, int), (*end)(void *, void **), (*run)(void *, void *);
    int (*make)(void **, void *, unsigned long long), (*release)(void *), (*drop)(void *);
    void *graph = NULL, *instance = NULL;
    (void)state;
    find("cudaStreamBeginCapture", &begin);
    find("cudaStreamEndCapture", &end);
    find("cudaGraphInstantiateWithFlags", &make);
    find("cudaGraphLaunch", &run);
    find("cudaGraphExecDestroy", &release);
    find("cudaGraphDestroy", &drop);
    record(begun, stream);
    assert_int_equal(begin(stream, 0), OK);
    multiply_bf16(8192);
    assert_int_equal(end(stream, &graph), OK);
    record(ended, stream);
    assert_near("capturing", between(begun, ended), LEAST_MS);
    assert_int_equal(make(&instance, graph, 0), OK);
    assert_int_equal(run(instance, stream), OK);
    assert_int_equal(run(instance, stream), OK);
    record(ended, stream);
    assert_near("two runs", between(begun, ended), 2 * (10.9951 + LAUNCH_MS));
    release(instance);
    drop(graph);
}

/* More events than the table begins with, of which some are destroyed. */
static void many_events_are_kept_apart(void **state)
{
    enum { EVENTS = 1000 };
    int (*destroy)(void *);
    void *events[EVENTS];
    (void)state;
    find("cudaEventDestroy", &destroy);
    for (size_t i = 0; i < EVENTS; i++) {
        make_event(&events[i]);
        record(events[i], stream);
        multiply_bf16(8192);
    }
    for (size_t i = 0; i < EVENTS; i += 2)
        destroy(events[i]);
    for (size_t i = 3; i < EVENTS; i += 2)
        assert_near("an event", between(events[1], events[i]),
                    (double)(i - 1) * (10.9951 + LAUNCH_MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_takes_what_its_roofline_says),
        cmocka_unit_test(streams_have_clocks_of_their_own),
        cmocka_unit_test(a_graph_takes_what_it_captured),
        cmocka_unit_test(many_events_are_kept_apart),
    };
    return cmocka_run_group_tests(tests, open_with_rates, NULL);
}
