/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The CUDA backend on the null device, which counts memory and calls: replays take what the
 * simulation says, to the byte, on several devices of the table, and give everything back.
 */
#include "input/config/model/model_config.h"
#include "run/measure/usage.h"
#include "hardware/replay/host_copies.h"
#include "hardware/replay/replay.h"
#include "run/simulate/simulate.h"
#include "unit/fixtures.h"
#include "unit/null_device.h"

#define MIB (UINT64_C(1) << 20)

/* ---- replays ---- */

typedef struct replay_case {
    const char *label;
    const char *device, *environment;
    ms_run_setting settings[8];
    bool is_memory_only;
    const char *tag; /* of saved tensors that are offloaded, and kept on the host; or NULL */
} replay_case;

#define SMALL                                                                                      \
    {"config", "smollm2-135m"}, {"batch", "2"},                                                    \
    {                                                                                              \
        "seq", "256"                                                                               \
    }
#define LARGE                                                                                      \
    {"config", "llama-3.1-8b"}, {"lora", "r=8,targets=all-linear"},                                \
    {                                                                                              \
        "seq", "1024"                                                                              \
    }

static const replay_case replays[] = {
    {"a100, plain", A100, {SMALL}, false, NULL},
    {"h100, plain", H100, {SMALL}, false, NULL},
    {"rtx 4090, plain", RTX, {SMALL}, false, NULL},
    {"a100, expandable", A100, {SMALL, {"allocator", "cuda-expandable"}}, false, NULL},
    {"h100, offload", H100, {SMALL, {"treat", "0-29=offload:0.7"}}, false, NULL},
    {"a100, offload by tag", A100, {SMALL}, false, "all=1"},
    {"h100, offload by tag, expandable",
     H100,
     {SMALL, {"allocator", "cuda-expandable"}},
     false,
     "mlp=0.5"},
    {"rtx 4090, offload by tag", RTX, {SMALL, {"accumulate", "3"}}, false, "0-14=0.8"},
    {"rtx 4090, an optimizer on the host", RTX, {SMALL, {"optimizer-device", "host"}}, false, NULL},
    {"a100, llama-3.1-8b with adapters", A100, {LARGE}, false, NULL},
    {"h100, llama-3.1-8b with adapters, expandable",
     H100,
     {LARGE, {"allocator", "cuda-expandable"}},
     false,
     NULL},
    {"rtx 4090, llama-3.1-8b with adapters, memory only",
     RTX,
     {LARGE, {"checkpointing", "all"}},
     true,
     NULL},
    {"rtx 4090, raw", RTX, {SMALL, {"allocator", "raw"}}, true, NULL},
};

static void require_equal(const ms_usage *u, const ms_replay_result *r)
{
    REQUIRE(r->played_events == r->event_count);
    REQUIRE(r->peak_bytes == u->peak_bytes);
    REQUIRE(r->peak_reserved_bytes == u->peak_reserved_bytes);
    REQUIRE(r->most_reserved_bytes == u->most_reserved_bytes);
    REQUIRE(r->retries == u->retries);
    REQUIRE(r->phases.count == u->phases.count);
    for (uint32_t i = 0; i < u->phases.count; i++) {
        REQUIRE(r->phases.items[i].peak_bytes == u->phases.items[i].peak_bytes);
        REQUIRE(r->phases.items[i].end_reserved_bytes == u->phases.items[i].end_reserved_bytes);
    }
}

/* Each stream and event is closed, each range returned; operators became products and copies. */
static void require_calls(const replay_case *c, const ms_replay_result *r)
{
    require_returned();
    bool is_expandable = calls_of("cuMemMap") > 0;
    if (c->is_memory_only) {
        REQUIRE(calls_of("cublasGemmStridedBatchedEx") == 0 && calls_of("cudaMemcpyAsync") == 0);
        return;
    }
    REQUIRE(calls_of("cublasGemmStridedBatchedEx") >= r->products && r->products > 100);
    REQUIRE(calls_of("cudaMemcpyAsync") > 500);
    REQUIRE(calls_of("cublasSetWorkspace_v2") > 0);
    REQUIRE(is_expandable || calls_of("cudaMalloc") > 0);
}

static void replay_on_null(const void *row)
{
    const replay_case *c = row;
    ms_backend *b = open_device(c->environment);
    ms_arena *arena = ms_arena_create(0);
    ms_model_config model;
    ms_run_config run;
    ms_simulated s;
    ms_replay_result r;
    ms_error err = {0};
    uint64_t host_bytes = 0;
    ms_offload_tag tag;
    load_run_on(c->device, arena, c->settings, COUNT_OF(c->settings), &model, &run);
    if (c->tag) {
        REQUIRE(ms_offload_tag_read(c->tag, arena, model.num_layers, &tag, &err) == MS_OK);
        run.offload_tags = (ms_offload_tags){&tag, 1};
    }
    const ms_job job = {.model = &model, .run = &run};
    REQUIRE(ms_simulate(&job, MS_SIMULATE_ALL, &s, &err) == MS_OK && !s.usage.out_of_memory);
    listen();
    const ms_replay_options options = {.allocator = s.usage.allocator,
                                       .is_memory_only = c->is_memory_only,
                                       .keeps_host_copies = c->tag != NULL};
    ms_status status = ms_replay_run(b, &s.simulation.trace, &options, &r, &err);
    if (status != MS_OK)
        fprintf(stderr, "%s\n", err.text);
    REQUIRE(status == MS_OK);
    require_equal(&s.usage, &r);
    REQUIRE(!c->tag || ms_host_copies_count(&s.simulation.trace, &host_bytes, &err) == MS_OK);
    REQUIRE(r.host_copy_bytes == host_bytes && (c->tag == NULL) == (host_bytes == 0));
    REQUIRE(!r.has_times && b->facts.is_simulated);
    /* The device gives memory in granules of 2 MiB, which segments of the raw allocator are not. */
    uint64_t shown = r.most_used_bytes - r.before_used_bytes - r.landing_bytes;
    REQUIRE(run.allocator.kind == MS_ALLOCATOR_RAW ? shown > r.most_reserved_bytes
                                                   : shown == r.most_reserved_bytes);
    uint64_t left = 1;
    REQUIRE(b->calls->used(b, &left, &err) == MS_OK && left == 0);
    b->calls->close(b);
    require_calls(c, &r);
    ms_replay_free(&r);
    ms_simulated_free(&s);
    ms_arena_free(arena);
}

static void check_replay(void **state)
{
    run_apart(replay_on_null, *state);
}

/* ---- devices that are full, or not there ---- */

static void replay_on_small(const void *row)
{
    const char *kind = row;
    const ms_run_setting settings[] = {{"config", "smollm2-135m"}, {"allocator", kind}};
    ms_backend *b = open_device("A small device|80|108|629145600|41943040"); /* 600 MiB */
    ms_arena *arena = ms_arena_create(0);
    ms_model_config model;
    ms_run_config run;
    ms_simulated s;
    ms_replay_result r;
    ms_error err = {0};
    uint64_t left = 1;
    load_run(arena, settings, COUNT_OF(settings), &model, &run);
    const ms_job job = {.model = &model, .run = &run};
    REQUIRE(ms_simulate(&job, MS_SIMULATE_ALL, &s, &err) == MS_OK);
    const ms_replay_options options = {.allocator = s.usage.allocator};
    REQUIRE(ms_replay_run(b, &s.simulation.trace, &options, &r, &err) == MS_ERR_OVER_BUDGET);
    REQUIRE(strstr(err.text, "the device has no"));
    REQUIRE(r.played_events < r.event_count && r.most_used_bytes <= 600 * MIB);
    REQUIRE(b->calls->used(b, &left, &err) == MS_OK && left == 0);
    b->calls->close(b);
    ms_replay_free(&r);
    ms_simulated_free(&s);
    ms_arena_free(arena);
}

typedef struct kind_case {
    const char *label;
} kind_case;
static const kind_case kinds[] = {{"cuda"}, {"cuda-expandable"}};

static void a_full_device_is_survived(void **state)
{
    run_apart(replay_on_small, ((const kind_case *)*state)->label);
}

static void open_what_is_missing(const void *row)
{
    ms_backend *b = NULL;
    ms_error err = {0}, other = {0};
    (void)row;
    setenv("MEMSCOPE_NULL_DEVICE", "A device|80|108|629145600|41943040", 1);
    setenv("MEMSCOPE_NULL_COUNT", "2", 1);
    REQUIRE(ms_replay_cuda_open(&(ms_backend_cuda_options){.device = 2, .library = library}, &b,
                                &err) == MS_ERR_IO);
    REQUIRE(!b && strstr(err.text, "no GPU 2"));
    REQUIRE(ms_replay_cuda_open(&(ms_backend_cuda_options){.library = "./no-such-file.so"}, &b,
                                &other) == MS_ERR_IO);
    REQUIRE(!b && strstr(other.text, "cannot be loaded"));
}

static void a_missing_device_is_reported(void **state)
{
    (void)state;
    run_apart(open_what_is_missing, NULL);
}

/* ---- failures of CUDA itself ---- */

static int full_context(void *address)
{
    (void)address;
    return MS_CUDA_OUT_OF_MEMORY;
}

static int full_library(void **handle)
{
    (void)handle;
    return MS_CUBLAS_ALLOC_FAILED;
}

static int broken_library(void **handle)
{
    (void)handle;
    return 14; /* CUBLAS_STATUS_INTERNAL_ERROR */
}

static int full_event(void **event)
{
    (void)event;
    return MS_CUDA_OUT_OF_MEMORY;
}

static int full_product(void *handle, int transpose_a, int transpose_b, int m, int n, int k,
                        const void *alpha, const void *a, int type_a, int stride_a,
                        long long next_a, const void *b, int type_b, int stride_b, long long next_b,
                        const void *beta, void *c, int type_c, int stride_c, long long next_c,
                        int batches, int compute, int algorithm)
{
    (void)handle, (void)transpose_a, (void)transpose_b, (void)m, (void)n, (void)k, (void)alpha;
    (void)a, (void)type_a, (void)stride_a, (void)next_a, (void)b, (void)type_b, (void)stride_b;
    (void)next_b, (void)beta, (void)c, (void)type_c, (void)stride_c, (void)next_c, (void)batches;
    (void)compute, (void)algorithm;
    return MS_CUBLAS_ALLOC_FAILED;
}

typedef struct fault_case {
    const char *label;
    ms_status status;
    const char *text;
    bool is_open; /* the backend opens, and a call of it fails */
    /* One of them; or NULL. */
    int (*release)(void *address);
    int (*open_products)(void **handle);
    int (*open_event)(void **event);
    bool is_product;
} fault_case;

static const fault_case faults[] = {
    {"no memory for a context", MS_ERR_OVER_BUDGET, "no memory left for a context", false,
     full_context, NULL, NULL, false},
    {"no memory for cuBLAS", MS_ERR_OVER_BUDGET, "no memory left for cuBLAS", false, NULL,
     full_library, NULL, false},
    {"a broken cuBLAS", MS_ERR_IO, "status 14", false, NULL, broken_library, NULL, false},
    {"no memory for an event", MS_ERR_OVER_BUDGET, "no memory left", true, NULL, NULL, full_event,
     false},
    {"no memory for a product", MS_ERR_OVER_BUDGET, "no memory left for cuBLAS", true, NULL, NULL,
     NULL, true},
};

static ms_status call_faulty(ms_backend *b, const fault_case *c, ms_error *err)
{
    ms_backend_event *event = NULL;
    ms_backend_stream *stream = NULL;
    const ms_backend_product product = {1, 1, 1, 1, 512, 1024, 2048, MS_DTYPE_F32, false};
    if (!c->is_product)
        return b->calls->open_event(b, &event, err);
    REQUIRE(b->calls->open_stream(b, &stream, err) == MS_OK);
    ms_status status = b->calls->product(b, stream, &product, err);
    b->calls->close_stream(b, stream);
    return status;
}

static void open_faulty(const void *row)
{
    const fault_case *c = row;
    ms_backend *b = NULL;
    ms_error err = {0};
    ms_cuda cuda;
    setenv("MEMSCOPE_NULL_DEVICE", "A device|80|108|629145600|41943040", 1);
    setenv("MEMSCOPE_NULL_COUNT", "1", 1);
    REQUIRE(ms_replay_cuda_load(library, &cuda, &err) == MS_OK);
    cuda.release = c->release ? c->release : cuda.release;
    cuda.open_products = c->open_products ? c->open_products : cuda.open_products;
    cuda.open_event = c->open_event ? c->open_event : cuda.open_event;
    cuda.multiply = c->is_product ? full_product : cuda.multiply;
    ms_status status = ms_replay_cuda_open(&(ms_backend_cuda_options){.cuda = &cuda}, &b, &err);
    REQUIRE(c->is_open == (status == MS_OK) && c->is_open == (b != NULL));
    if (c->is_open) {
        status = call_faulty(b, c, &err);
        b->calls->close(b);
    }
    REQUIRE(status == c->status && strstr(err.text, c->text));
}

static void cuda_failures_are_told_apart(void **state)
{
    run_apart(open_faulty, *state);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(replays) + COUNT_OF(kinds) + COUNT_OF(faults) + 1] = {
        cmocka_unit_test(a_missing_device_is_reported)};
    find_library();
    size_t count = 1;
    count += ADD_ROWS(tests + count, check_replay, replays);
    count += ADD_ROWS(tests + count, cuda_failures_are_told_apart, faults);
    count += ADD_ROWS(tests + count, a_full_device_is_survived, kinds);
    return _cmocka_run_group_tests("replays on the null device", tests, count, NULL, NULL);
}
