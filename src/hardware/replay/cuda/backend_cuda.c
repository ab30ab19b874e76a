/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hardware/replay/cuda/backend_cuda.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "core/allocator/memory.h"

/* ---- cuda pages ---- */

/* Addresses and pages of CUDA's driver, for expandable segments. */

typedef struct ms_cuda_page {
    uint64_t address, bytes;
    unsigned long long handle;
} ms_cuda_page;

/* The addresses that were asked for lie within those that the driver gave. */
typedef struct ms_cuda_space {
    uint64_t address, given, given_bytes;
} ms_cuda_space;

typedef struct ms_cuda_pages {
    ms_vec(ms_cuda_page) pages;
    ms_vec(ms_cuda_space) spaces;
} ms_cuda_pages;

static inline void *ms_replay_cuda_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
}

/* What the allocator maps in: pages of this size for large blocks, else of a tenth of it. */
#define LARGE_PAGE_BYTES MS_MEMORY_ALIGNMENT
#define SMALL_PAGE_BYTES (LARGE_PAGE_BYTES / 10)

static void replay_pages_free(ms_cuda_pages *pages)
{
    ms_vec_free(&pages->pages);
    ms_vec_free(&pages->spaces);
}

/* Each returns CUDA's code; MS_CUDA_OUT_OF_MEMORY also when memscope itself is out of memory. */
/* The driver aligns to powers of two only. */
static int replay_pages_reserve(ms_cuda_pages *pages, const ms_cuda *cuda, uint64_t bytes,
                                uint64_t *address)
{
    void *given = NULL;
    uint64_t all = bytes + MS_MEMORY_ALIGNMENT;
    if (!ms_vec_reserve(&pages->spaces))
        return MS_CUDA_OUT_OF_MEMORY;
    int code = cuda->reserve(&given, (size_t)all, 0, NULL, 0);
    if (code != MS_CUDA_OK)
        return code;
    *address =
        ((uintptr_t)given + MS_MEMORY_ALIGNMENT - 1) / MS_MEMORY_ALIGNMENT * MS_MEMORY_ALIGNMENT;
    (void)ms_vec_push(&pages->spaces, (ms_cuda_space){*address, (uintptr_t)given, all});
    return MS_CUDA_OK;
}

static void replay_pages_release(ms_cuda_pages *pages, const ms_cuda *cuda, uint64_t address)
{
    uint32_t at = 0;
    while (at < pages->spaces.count && pages->spaces.items[at].address != address)
        at++;
    if (at == pages->spaces.count)
        return;
    const ms_cuda_space space = pages->spaces.items[at];
    cuda->unreserve(ms_replay_cuda_pointer(space.given), (size_t)space.given_bytes);
    pages->spaces.items[at] = pages->spaces.items[--pages->spaces.count];
}

static int map_page(ms_cuda_pages *pages, const ms_cuda *cuda, int device, ms_cuda_page page)
{
    const ms_cuda_place place = {
        .type = MS_CUDA_PINNED, .location_type = MS_CUDA_ON_DEVICE, .location = device};
    const ms_cuda_access access = {MS_CUDA_ON_DEVICE, device, MS_CUDA_READ_WRITE};
    void *address = ms_replay_cuda_pointer(page.address);
    size_t bytes = (size_t)page.bytes;
    if (!ms_vec_reserve(&pages->pages))
        return MS_CUDA_OUT_OF_MEMORY;
    int code = cuda->create(&page.handle, bytes, &place, 0);
    if (code != MS_CUDA_OK)
        return code;
    code = cuda->map(address, bytes, 0, page.handle, 0);
    if (code == MS_CUDA_OK) {
        code = cuda->allow(address, bytes, &access, 1);
        if (code != MS_CUDA_OK)
            cuda->unmap(address, bytes);
    }
    if (code != MS_CUDA_OK) {
        cuda->give_back(page.handle);
        return code;
    }
    (void)ms_vec_push(&pages->pages, page);
    return MS_CUDA_OK;
}

static void replay_pages_unmap(ms_cuda_pages *pages, const ms_cuda *cuda, uint64_t address,
                               uint64_t bytes)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < pages->pages.count; i++) {
        const ms_cuda_page page = pages->pages.items[i];
        if (page.address >= address && page.address + page.bytes <= address + bytes) {
            cuda->unmap(ms_replay_cuda_pointer(page.address), (size_t)page.bytes);
            cuda->give_back(page.handle);
        } else {
            pages->pages.items[left++] = page;
        }
    }
    pages->pages.count = left;
}

/* Maps all of the range or nothing. */
static int replay_pages_map(ms_cuda_pages *pages, const ms_cuda *cuda, int device, uint64_t address,
                            uint64_t bytes)
{
    bool is_large = address % LARGE_PAGE_BYTES == 0 && bytes % LARGE_PAGE_BYTES == 0;
    uint64_t page_bytes = is_large ? LARGE_PAGE_BYTES : SMALL_PAGE_BYTES;
    for (uint64_t at = 0; at < bytes; at += page_bytes) {
        int code = map_page(pages, cuda, device,
                            (ms_cuda_page){.address = address + at, .bytes = page_bytes});
        if (code != MS_CUDA_OK) {
            replay_pages_unmap(pages, cuda, address, at);
            return code;
        }
    }
    return MS_CUDA_OK;
}

/* ---- cuda facts ---- */

/* What CUDA says of a device. */

/* CUDA's properties begin with the name in every version; the rest of them does not matter. */
static int read_title(const ms_cuda *cuda, int device, ms_backend_facts *facts)
{
    enum { MOST_BYTES = 8192, NAME_BYTES = 256 };
    char *properties = calloc(1, MOST_BYTES);
    if (!properties)
        return MS_CUDA_OUT_OF_MEMORY;
    int code = cuda->properties(properties, device);
    properties[NAME_BYTES - 1] = '\0';
    snprintf(facts->title, sizeof facts->title, "%.127s", properties);
    free(properties);
    return code;
}

static int read_attributes(const ms_cuda *cuda, int device, ms_backend_facts *facts)
{
    int major = 0, minor = 0, processors = 0;
    int code = cuda->attribute(&major, MS_CUDA_CAPABILITY_MAJOR, device);
    if (code == MS_CUDA_OK)
        code = cuda->attribute(&minor, MS_CUDA_CAPABILITY_MINOR, device);
    if (code == MS_CUDA_OK)
        code = cuda->attribute(&processors, MS_CUDA_MULTIPROCESSORS, device);
    facts->compute_capability = (uint32_t)(10 * major + minor);
    facts->multiprocessors = (uint32_t)processors;
    return code;
}

static int read_memory(const ms_cuda *cuda, ms_backend_facts *facts)
{
    size_t rest = 0, total = 0;
    int code = cuda->memory(&rest, &total);
    facts->total_bytes = total;
    facts->first_used_bytes = total - rest;
    return code;
}

static int read_versions(const ms_cuda *cuda, ms_backend_facts *facts)
{
    int driver = 0, runtime = 0;
    int code = cuda->driver_version(&driver);
    if (code == MS_CUDA_OK)
        code = cuda->runtime_version(&runtime);
    snprintf(facts->versions, sizeof facts->versions, "CUDA driver %d.%d, runtime %d.%d",
             driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    return code;
}

/* CUDA's code. */
static int replay_cuda_facts(const ms_cuda *cuda, int device, ms_backend_facts *facts)
{
    int code = read_versions(cuda, facts);
    if (code == MS_CUDA_OK)
        code = read_attributes(cuda, device, facts);
    if (code == MS_CUDA_OK)
        code = read_title(cuda, device, facts);
    if (code == MS_CUDA_OK)
        code = read_memory(cuda, facts);
    facts->is_simulated = cuda->is_null;
    return code;
}

/* ---- backend cuda ---- */

/* Work that the host does for a stream; freed with the backend. */
typedef struct host_job {
    struct host_job *next;
    char *memory;
    uint64_t region_bytes, bytes;
} host_job;

typedef struct cuda_device {
    ms_backend base;
    ms_cuda cuda;
    int device;
    void *products; /* cuBLAS's handle, and the stream and workspace it has */
    ms_backend_stream *products_stream;
    uint64_t workspace, workspace_bytes; /* 0: its own */
    ms_cuda_pages pages;
    host_job *jobs;
} cuda_device;

static cuda_device *of(ms_backend *backend)
{
    return (cuda_device *)(void *)backend;
}

static ms_status fail(const cuda_device *d, int code, const char *what, ms_error *err)
{
    if (code == MS_CUDA_OK)
        return MS_OK;
    if (code == MS_CUDA_OUT_OF_MEMORY)
        return ms_fail(err, MS_ERR_OVER_BUDGET, "the device has no memory left for %s", what);
    return ms_fail(err, MS_ERR_IO, "the device failed in %s: %.200s", what,
                   d->cuda.error_text(code));
}

/* ---- memory ---- */

static ms_status used(ms_backend *backend, uint64_t *bytes, ms_error *err)
{
    size_t rest = 0, total = 0;
    int code = of(backend)->cuda.memory(&rest, &total);
    *bytes = total - rest;
    return fail(of(backend), code, "cudaMemGetInfo", err);
}

/* The allocator may recover from it: libraries must not find it as the latest failure. */
static ms_status fail_memory(const cuda_device *d, int code, uint64_t bytes, const char *what,
                             ms_error *err)
{
    if (code != MS_CUDA_OK)
        (void)d->cuda.forget();
    if (code == MS_CUDA_OUT_OF_MEMORY)
        return ms_fail(err, MS_ERR_OVER_BUDGET, "the device has no %" PRIu64 " bytes left", bytes);
    return fail(d, code, what, err);
}

static ms_status reserve(ms_backend *backend, ms_memory_kind kind, uint64_t bytes,
                         uint64_t *address, ms_error *err)
{
    cuda_device *d = of(backend);
    void *found = NULL;
    if (kind == MS_MEMORY_ADDRESSES)
        return fail_memory(d, replay_pages_reserve(&d->pages, &d->cuda, bytes, address), bytes,
                           "cuMemAddressReserve", err);
    int code = d->cuda.allocate(&found, (size_t)bytes);
    *address = (uintptr_t)found;
    return fail_memory(d, code, bytes, "cudaMalloc", err);
}

static void release(ms_backend *backend, ms_memory_kind kind, uint64_t address, uint64_t bytes)
{
    cuda_device *d = of(backend);
    (void)bytes;
    d->cuda.finish();
    if (kind == MS_MEMORY_ADDRESSES)
        replay_pages_release(&d->pages, &d->cuda, address);
    else
        d->cuda.release(ms_replay_cuda_pointer(address));
}

static ms_status map(ms_backend *backend, uint64_t address, uint64_t bytes, ms_error *err)
{
    cuda_device *d = of(backend);
    int code = replay_pages_map(&d->pages, &d->cuda, d->device, address, bytes);
    return fail_memory(d, code, bytes, "cuMemMap", err);
}

static void unmap(ms_backend *backend, uint64_t address, uint64_t bytes)
{
    cuda_device *d = of(backend);
    d->cuda.finish();
    replay_pages_unmap(&d->pages, &d->cuda, address, bytes);
}

static ms_status pin(ms_backend *backend, uint64_t bytes, bool is_pinned, void **memory,
                     ms_error *err)
{
    cuda_device *d = of(backend);
    *memory = NULL;
    int code = MS_CUDA_OK;
    if (is_pinned)
        code = d->cuda.pin(memory, (size_t)bytes, 0);
    else
        *memory = malloc((size_t)bytes);
    if (code == MS_CUDA_OUT_OF_MEMORY || (code == MS_CUDA_OK && !*memory))
        return ms_fail(err, MS_ERR_NOMEM, "the host has no %" PRIu64 " bytes%s left", bytes,
                       is_pinned ? " that can be pinned" : "");
    return fail(d, code, "cudaHostAlloc", err);
}

static void unpin(ms_backend *backend, void *memory, uint64_t bytes, bool is_pinned)
{
    (void)bytes;
    if (is_pinned)
        of(backend)->cuda.unpin(memory);
    else
        free(memory);
}

/* ---- streams and events ---- */

static ms_status open_stream(ms_backend *backend, ms_backend_stream **stream, ms_error *err)
{
    void *made = NULL;
    int code = of(backend)->cuda.open_stream(&made, MS_CUDA_NON_BLOCKING);
    *stream = made;
    return fail(of(backend), code, "cudaStreamCreateWithFlags", err);
}

static void close_stream(ms_backend *backend, ms_backend_stream *stream)
{
    of(backend)->cuda.finish_stream(stream);
    of(backend)->cuda.close_stream(stream);
}

static ms_status open_event(ms_backend *backend, ms_backend_event **event, ms_error *err)
{
    void *made = NULL;
    int code = of(backend)->cuda.open_event(&made);
    *event = made;
    return fail(of(backend), code, "cudaEventCreate", err);
}

static void close_event(ms_backend *backend, ms_backend_event *event)
{
    of(backend)->cuda.close_event(event);
}

static ms_status record(ms_backend *backend, ms_backend_event *event, ms_backend_stream *stream,
                        ms_error *err)
{
    return fail(of(backend), of(backend)->cuda.record(event, stream), "cudaEventRecord", err);
}

static ms_status wait_for(ms_backend *backend, ms_backend_event *event, ms_backend_stream *stream,
                          ms_error *err)
{
    return fail(of(backend), of(backend)->cuda.wait(stream, event, 0), "cudaStreamWaitEvent", err);
}

static ms_status finish_event(ms_backend *backend, ms_backend_event *event, ms_error *err)
{
    return fail(of(backend), of(backend)->cuda.finish_event(event), "cudaEventSynchronize", err);
}

static ms_status elapsed(ms_backend *backend, ms_backend_event *begin, ms_backend_event *end,
                         double *ms, ms_error *err)
{
    float found = 0;
    int code = of(backend)->cuda.elapsed(&found, begin, end);
    *ms = (double)found;
    return fail(of(backend), code, "cudaEventElapsedTime", err);
}

static ms_status synchronize(ms_backend *backend, ms_backend_stream *stream, ms_error *err)
{
    cuda_device *d = of(backend);
    int code = stream ? d->cuda.finish_stream(stream) : d->cuda.finish();
    return fail(d, code, "work that was given to it", err);
}

/* ---- work ---- */

static ms_status copy(ms_backend *backend, ms_backend_stream *stream, ms_copy_kind kind,
                      uint64_t to, uint64_t from, uint64_t bytes, ms_error *err)
{
    static const int kinds[] = {[MS_COPY_TO_DEVICE] = MS_CUDA_TO_DEVICE,
                                [MS_COPY_TO_HOST] = MS_CUDA_TO_HOST,
                                [MS_COPY_ON_DEVICE] = MS_CUDA_WITHIN};
    int code = of(backend)->cuda.copy(ms_replay_cuda_pointer(to), ms_replay_cuda_pointer(from),
                                      (size_t)bytes, kinds[kind], stream);
    return fail(of(backend), code, "cudaMemcpyAsync", err);
}

/* cuBLAS stores by columns, so it is given the product of the transposed matrices. */
static int multiply(cuda_device *d, const ms_backend_product *p)
{
    static const int types[MS_DTYPE_COUNT] = {[MS_DTYPE_F32] = MS_CUDA_REAL_F32,
                                              [MS_DTYPE_BF16] = MS_CUDA_REAL_BF16,
                                              [MS_DTYPE_F16] = MS_CUDA_REAL_F16,
                                              [MS_DTYPE_F64] = MS_CUDA_REAL_F64};
    const float one = 1, zero = 0;
    const double one_f64 = 1, zero_f64 = 0;
    bool is_f64 = p->dtype == MS_DTYPE_F64;
    int type = types[p->dtype], rows = (int)p->rows, inner = (int)p->inner;
    int columns = (int)p->columns;
    const long long long_inner = inner, long_rows = rows;
    return d->cuda.multiply(
        d->products, MS_CUBLAS_AS_IT_IS, p->transposed ? MS_CUBLAS_TRANSPOSED : MS_CUBLAS_AS_IT_IS,
        columns, rows, inner, is_f64 ? (const void *)&one_f64 : &one, ms_replay_cuda_pointer(p->b),
        type, columns, long_inner * columns, ms_replay_cuda_pointer(p->a), type,
        p->transposed ? rows : inner, long_rows * inner, is_f64 ? (const void *)&zero_f64 : &zero,
        ms_replay_cuda_pointer(p->c), type, columns, long_rows * columns, (int)p->batches,
        is_f64 ? MS_CUBLAS_COMPUTE_F64 : MS_CUBLAS_COMPUTE_F32, MS_CUBLAS_ANY_ALGORITHM);
}

static ms_status fail_products(int code, const char *what, ms_error *err)
{
    if (code == MS_CUDA_OK)
        return MS_OK;
    if (code == MS_CUBLAS_ALLOC_FAILED)
        return ms_fail(err, MS_ERR_OVER_BUDGET, "the device has no memory left for cuBLAS, in %s",
                       what);
    return ms_fail(err, MS_ERR_IO, "cuBLAS failed in %s, with status %d", what, code);
}

/* With a new stream cuBLAS forgets its workspace. */
static ms_status set_stream(cuda_device *d, ms_backend_stream *stream, ms_error *err)
{
    int code = d->cuda.set_stream(d->products, stream);
    if (code == MS_CUDA_OK && d->workspace_bytes)
        code = d->cuda.set_workspace(d->products, ms_replay_cuda_pointer(d->workspace),
                                     (size_t)d->workspace_bytes);
    d->products_stream = code == MS_CUDA_OK ? stream : NULL;
    return fail_products(code, "taking a stream", err);
}

static ms_status set_workspace(ms_backend *backend, uint64_t address, uint64_t bytes, ms_error *err)
{
    cuda_device *d = of(backend);
    d->workspace = address;
    d->workspace_bytes = bytes;
    return set_stream(d, d->products_stream, err);
}

static ms_status product(ms_backend *backend, ms_backend_stream *stream,
                         const ms_backend_product *p, ms_error *err)
{
    cuda_device *d = of(backend);
    if (p->rows > INT32_MAX || p->inner > INT32_MAX || p->columns > INT32_MAX ||
        p->batches > INT32_MAX)
        return ms_fail(err, MS_ERR_LIMIT, "a matrix product is larger than cuBLAS accepts");
    ms_status status = stream == d->products_stream ? MS_OK : set_stream(d, stream, err);
    return status == MS_OK ? fail_products(multiply(d, p), "a product", err) : status;
}

static ms_status traffic(ms_backend *backend, ms_backend_stream *stream,
                         const ms_backend_traffic *t, ms_error *err)
{
    uint64_t most = t->from_bytes < t->to_bytes ? t->from_bytes : t->to_bytes;
    uint64_t left = t->bytes / 2;
    ms_status status = MS_OK;
    while (status == MS_OK && most > 0 && left > 0) {
        uint64_t part = left < most ? left : most;
        status = copy(backend, stream, MS_COPY_ON_DEVICE, t->to, t->from, part, err);
        left -= part;
    }
    return status;
}

static void do_job(void *data)
{
    const host_job *job = data;
    uint64_t half = job->region_bytes / 2, left = job->bytes / 2;
    while (half > 0 && left > 0) {
        uint64_t part = left < half ? left : half;
        memcpy(job->memory, job->memory + half, (size_t)part);
        left -= part;
    }
}

static ms_status host_traffic(ms_backend *backend, ms_backend_stream *stream, void *memory,
                              uint64_t region_bytes, uint64_t bytes, ms_error *err)
{
    cuda_device *d = of(backend);
    host_job *job = malloc(sizeof *job);
    if (!job)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for work of the host");
    *job = (host_job){d->jobs, memory, region_bytes, bytes};
    d->jobs = job;
    return fail(d, d->cuda.call(stream, do_job, job), "cudaLaunchHostFunc", err);
}

/* ---- opening and closing ---- */

static void close_device(ms_backend *backend)
{
    cuda_device *d = of(backend);
    if (d->cuda.finish)
        d->cuda.finish(); /* jobs of the host run until then */
    if (d->products)
        d->cuda.close_products(d->products);
    replay_pages_free(&d->pages);
    for (host_job *next; d->jobs; d->jobs = next) {
        next = d->jobs->next;
        free(d->jobs);
    }
    free(d);
}

static const ms_backend_calls calls = {
    .name = "cuda",
    .close = close_device,
    .used = used,
    .reserve = reserve,
    .release = release,
    .map = map,
    .unmap = unmap,
    .pin = pin,
    .unpin = unpin,
    .open_stream = open_stream,
    .close_stream = close_stream,
    .open_event = open_event,
    .close_event = close_event,
    .record = record,
    .wait = wait_for,
    .finish = finish_event,
    .elapsed = elapsed,
    .copy = copy,
    .product = product,
    .traffic = traffic,
    .host_traffic = host_traffic,
    .set_workspace = set_workspace,
    .synchronize = synchronize,
};

static ms_status open_device(cuda_device *d, uint32_t device, ms_error *err)
{
    int count = 0, code = d->cuda.count_devices(&count);
    if (code != MS_CUDA_OK && code != MS_CUDA_OUT_OF_MEMORY)
        return ms_fail(err, MS_ERR_IO, "there is no GPU that CUDA can use: %.200s",
                       d->cuda.error_text(code));
    if (code != MS_CUDA_OK)
        return fail(d, code, "a context", err);
    if (count <= 0 || device >= (uint32_t)count)
        return ms_fail(err, MS_ERR_IO, "there is no GPU %u: CUDA sees %d", (unsigned)device, count);
    d->device = (int)device;
    code = d->cuda.set_device(d->device);
    if (code == MS_CUDA_OK)
        code = d->cuda.release(NULL); /* makes the context */
    if (code != MS_CUDA_OK)
        return fail(d, code, "a context", err);
    code = d->cuda.open_products(&d->products);
    if (code != MS_CUDA_OK)
        return fail_products(code, "starting", err);
    return fail(d, replay_cuda_facts(&d->cuda, d->device, &d->base.facts), "questions about it",
                err);
}

ms_status ms_replay_cuda_open(const ms_backend_cuda_options *options, ms_backend **backend,
                              ms_error *err)
{
    cuda_device *d = calloc(1, sizeof *d);
    *backend = NULL;
    if (!d)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the CUDA backend");
    d->base.calls = &calls;
    ms_status status = MS_OK;
    if (options->cuda)
        d->cuda = *options->cuda;
    else
        status = ms_replay_cuda_load(options->library, &d->cuda, err);
    if (status == MS_OK)
        status = open_device(d, options->device, err);
    if (status != MS_OK) {
        close_device(&d->base);
        return status;
    }
    *backend = &d->base;
    return MS_OK;
}
