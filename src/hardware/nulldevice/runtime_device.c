/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CUDA's runtime: devices and their properties.
 */
#include <stdio.h>
#include <string.h>

#include "hardware/nulldevice/attributes.h"
#include "hardware/nulldevice/nulldevice.h"
#include "hardware/nulldevice/runtime_types.h"

enum { RUNTIME_VERSION = 13000 };

/* What is the same for all devices since compute capability 7.0. */
enum {
    SHARED_BYTES = 49152,
    SHARED_BYTES_RESERVED = 1024,
    REGISTERS = 65536,
    WARP_SIZE = 32,
    BLOCK_THREADS = 1024,
    BLOCK_DEPTH = 64,
    GRID_WIDTH = 2147483647,
    GRID_HEIGHT = 65535,
    CONSTANT_BYTES = 65536,
    TEXTURE_ALIGNMENT = 512,
    ASYNC_ENGINES = 3,
    MULTIPROCESSOR_BLOCKS = 32,
    BUS_BITS = 5120,
    CLOCK_KHZ = 1410000
};

static _Thread_local int current;

int ms_null_current_device(void)
{
    return current;
}

static bool is_device(int device)
{
    return device >= 0 && device < ms_null_device_get()->count;
}

MS_NULL_CALL(int, cudaGetDeviceCount, (int *count))
{
    *count = ms_null_device_get()->count;
    return *count > 0 ? MS_NULL_OK : MS_NULL_NO_DEVICE;
}

MS_NULL_CALL(int, cudaGetDevice, (int *device))
{
    *device = current;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaSetDevice, (int device))
{
    if (!is_device(device))
        return MS_NULL_INVALID_DEVICE;
    current = device;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaDriverGetVersion, (int *version))
{
    *version = RUNTIME_VERSION;
    return MS_NULL_OK;
}

/* Triton's launchers do not load without it. */
MS_NULL_CALL(int, cuDriverGetVersion, (int *version))
{
    return cudaDriverGetVersion(version);
}

MS_NULL_CALL(int, cudaRuntimeGetVersion, (int *version))
{
    *version = RUNTIME_VERSION;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaDeviceGetPCIBusId, (char *text, int bytes, int device))
{
    snprintf(text, (size_t)bytes, "0000:%02x:00.0", (unsigned)(device + 1));
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaDeviceCanAccessPeer, (int *can, int device, int peer))
{
    *can = device != peer;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaDeviceGetStreamPriorityRange, (int *least, int *greatest))
{
    *least = 0;
    *greatest = -5;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cudaGetDeviceProperties, (ms_null_properties * p, int device))
{
    const ms_null_device *d = ms_null_device_get();
    if (!is_device(device))
        return MS_NULL_INVALID_DEVICE;
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s", d->name);
    p->uuid[0] = (char)(device + 1);
    p->total_bytes = d->bytes;
    p->major = d->capability / 10;
    p->minor = d->capability % 10;
    p->multiprocessors = d->multiprocessors;
    p->threads_of_multiprocessor = ms_null_threads();
    p->shared_bytes_of_block = SHARED_BYTES;
    p->shared_bytes_opt_in = (size_t)ms_null_shared_bytes();
    p->shared_bytes_of_multiprocessor = (size_t)ms_null_shared_bytes() + SHARED_BYTES_RESERVED;
    p->shared_bytes_reserved = SHARED_BYTES_RESERVED;
    p->registers_of_block = p->registers_of_multiprocessor = REGISTERS;
    p->warp_size = WARP_SIZE;
    p->threads_of_block = p->block_dimensions[0] = p->block_dimensions[1] = BLOCK_THREADS;
    p->block_dimensions[2] = BLOCK_DEPTH;
    p->grid_dimensions[0] = GRID_WIDTH;
    p->grid_dimensions[1] = p->grid_dimensions[2] = GRID_HEIGHT;
    p->constant_bytes = CONSTANT_BYTES;
    p->texture_alignment = TEXTURE_ALIGNMENT;
    p->blocks_of_multiprocessor = MULTIPROCESSOR_BLOCKS;
    p->l2_bytes = (int)d->l2_bytes;
    p->bus_bits = BUS_BITS;
    p->async_engines = ASYNC_ENGINES;
    p->pci_bus = device + 1;
    p->unified_addressing = p->managed_memory = p->concurrent_managed_access = 1;
    p->concurrent_kernels = p->cooperative_launch = p->maps_host_memory = 1;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cuDeviceGetUuid_v2, (char uuid[16], int device))
{
    ms_null_properties p;
    int code = cudaGetDeviceProperties(&p, device);
    if (code == MS_NULL_OK)
        memcpy(uuid, p.uuid, sizeof p.uuid);
    return code;
}

MS_NULL_CALL(int, cuDeviceGetUuid, (char uuid[16], int device))
{
    return cuDeviceGetUuid_v2(uuid, device);
}

MS_NULL_CALL(int, cuCtxGetStreamPriorityRange, (int *least, int *greatest))
{
    return cudaDeviceGetStreamPriorityRange(least, greatest);
}

/* Members from one to another stand together in both layouts. */
#define SPAN(first, last)                                                                          \
    {                                                                                              \
        offsetof(ms_null_properties, first), offsetof(ms_null_properties_12, first),               \
            offsetof(ms_null_properties, last) + sizeof(((ms_null_properties *)0)->last) -         \
                offsetof(ms_null_properties, first)                                                \
    }

/* What programs built with CUDA 12 call. */
MS_NULL_CALL(int, cudaGetDeviceProperties_v2, (ms_null_properties_12 * p, int device))
{
    static const struct {
        size_t from, to, bytes;
    } spans[] = {
        SPAN(name, grid_dimensions),
        SPAN(constant_bytes, texture_pitch_alignment),
        SPAN(multiprocessors, multiprocessors),
        SPAN(integrated, maps_host_memory),
        SPAN(surface_alignment, unified_addressing),
        SPAN(bus_bits, local_l1),
        SPAN(shared_bytes_of_multiprocessor, host_atomics), /* aligned in another way */
        SPAN(pageable_access, cooperative_launch),
        SPAN(shared_bytes_opt_in, rest),
    };
    ms_null_properties all;
    int code = cudaGetDeviceProperties(&all, device);
    if (code != MS_NULL_OK)
        return code;
    memset(p, 0, sizeof *p);
    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++)
        memcpy((char *)p + spans[i].to, (const char *)&all + spans[i].from, spans[i].bytes);
    p->clock_khz = CLOCK_KHZ;
    return MS_NULL_OK;
}

/* Those that are not here are abilities, and there. */
static int attribute_of(int attribute)
{
    const ms_null_device *d = ms_null_device_get();
    const struct {
        int number, value;
    } rows[] = {
        {MS_NULL_BLOCK_THREADS, BLOCK_THREADS},
        {MS_NULL_BLOCK_X, BLOCK_THREADS},
        {MS_NULL_BLOCK_Y, BLOCK_THREADS},
        {MS_NULL_BLOCK_Z, BLOCK_DEPTH},
        {MS_NULL_GRID_X, GRID_WIDTH},
        {MS_NULL_GRID_Y, GRID_HEIGHT},
        {MS_NULL_GRID_Z, GRID_HEIGHT},
        {MS_NULL_SHARED_BYTES, SHARED_BYTES},
        {MS_NULL_CONSTANT_BYTES, CONSTANT_BYTES},
        {MS_NULL_WARP_SIZE, WARP_SIZE},
        {MS_NULL_REGISTERS, REGISTERS},
        {MS_NULL_CLOCK, CLOCK_KHZ},
        {MS_NULL_TEXTURE_ALIGNMENT, TEXTURE_ALIGNMENT},
        {MS_NULL_MULTIPROCESSORS, d->multiprocessors},
        {MS_NULL_INTEGRATED, 0},
        {MS_NULL_COMPUTE_MODE, 0}, /* compute mode: default */
        {MS_NULL_ECC, 0},
        {MS_NULL_BUS_BITS, BUS_BITS},
        {MS_NULL_L2_BYTES, (int)d->l2_bytes},
        {MS_NULL_MULTIPROCESSOR_THREADS, ms_null_threads()},
        {MS_NULL_ASYNC_ENGINES, ASYNC_ENGINES},
        {MS_NULL_MAJOR, d->capability / 10},
        {MS_NULL_MINOR, d->capability % 10},
        {MS_NULL_MULTIPROCESSOR_SHARED_BYTES, ms_null_shared_bytes() + SHARED_BYTES_RESERVED},
        {MS_NULL_MULTIPROCESSOR_REGISTERS, REGISTERS},
        {MS_NULL_SHARED_BYTES_OPT_IN, ms_null_shared_bytes()},
        {MS_NULL_MULTIPROCESSOR_BLOCKS, MULTIPROCESSOR_BLOCKS},
        {MS_NULL_SHARED_BYTES_RESERVED, SHARED_BYTES_RESERVED},
        {MS_NULL_MULTICAST, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].number == attribute)
            return rows[i].value;
    return 1;
}

MS_NULL_CALL(int, cudaDeviceGetAttribute, (int *value, int attribute, int device))
{
    if (!is_device(device))
        return MS_NULL_INVALID_DEVICE;
    *value = attribute_of(attribute);
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cuDeviceGetAttribute, (int *value, int attribute, int device))
{
    return cudaDeviceGetAttribute(value, attribute, device);
}

/* ---- errors ---- */

typedef struct error_row {
    int code;
    const char *name, *text;
} error_row;

static const error_row *error_of(int code)
{
    static const error_row rows[] = {
        {MS_NULL_OK, "cudaSuccess", "no error"},
        {MS_NULL_INVALID_VALUE, "cudaErrorInvalidValue", "invalid argument"},
        {MS_NULL_OUT_OF_MEMORY, "cudaErrorMemoryAllocation", "out of memory"},
        {MS_NULL_NO_DEVICE, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
        {MS_NULL_INVALID_DEVICE, "cudaErrorInvalidDevice", "invalid device ordinal"},
        {MS_NULL_NOT_FOUND, "cudaErrorSymbolNotFound", "named symbol not found"},
        {MS_NULL_NOT_SUPPORTED, "cudaErrorNotSupported", "operation not supported"},
        {MS_NULL_CAPTURE_UNSUPPORTED, "cudaErrorStreamCaptureUnsupported",
         "operation not permitted when stream is capturing"},
        {MS_NULL_CAPTURE_INVALIDATED, "cudaErrorStreamCaptureInvalidated",
         "operation failed due to a previous error during capture"},
        {MS_NULL_CAPTURED_EVENT, "cudaErrorCapturedEvent",
         "operation not permitted on an event last recorded in a capturing stream"},
    };
    static const error_row unknown = {0, "cudaErrorUnknown", "unrecognized error code"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].code == code)
            return &rows[i];
    return &unknown;
}

MS_NULL_CALL(const char *, cudaGetErrorName, (int code))
{
    return error_of(code)->name;
}

MS_NULL_CALL(const char *, cudaGetErrorString, (int code))
{
    return error_of(code)->text;
}

MS_NULL_CALL(int, cuGetErrorString, (int code, const char **text))
{
    *text = error_of(code)->text;
    return MS_NULL_OK;
}

MS_NULL_CALL(int, cuGetErrorName, (int code, const char **name))
{
    *name = error_of(code)->name;
    return MS_NULL_OK;
}

MS_NULL_SUCCEEDS(cudaSetDeviceFlags)
MS_NULL_SUCCEEDS(cudaGetLastError)
MS_NULL_SUCCEEDS(cudaPeekAtLastError)
