/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A stub CUDA device. The library is loaded before NVIDIA's and answers PyTorch's calls: memory is
 * only address space, kernels do not run, everything completes at once. PyTorch's own code runs on
 * top, including its caching allocator, so its memory figures are those of the device that the
 * environment describes:
 *
 *     MEMSCOPE_NULL_DEVICE=NAME|capability times ten|multiprocessors|bytes|bytes of L2|driver's
 * bytes|operations per second of products in 16 bits|in 32 bits|bytes per second of its memory|of
 * the link to the host MEMSCOPE_NULL_COUNT=number of such devices
 *
 * What is left out at the end is not known.
 *
 * Functions that ignore their arguments are declared without parameters: in the calling conventions
 * of all CUDA platforms, the caller cleans up.
 */
#ifndef MS_HARDWARE_NULLDEVICE_NULLDEVICE_H
#define MS_HARDWARE_NULLDEVICE_NULLDEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Declares and begins a function that other libraries call. */
#define MS_NULL_CALL(type, name, parameters)                                                       \
    __attribute__((visibility("default"))) type name parameters;                                   \
    type name parameters

/* A call that does nothing and succeeds; its library's code for success is 0. */
#define MS_NULL_SUCCEEDS(name)                                                                     \
    MS_NULL_CALL(int, name, (void))                                                                \
    {                                                                                              \
        return 0;                                                                                  \
    }

/* A call that makes something: it writes a unique handle to where its first argument points, and
 * succeeds. */
#define MS_NULL_MAKES(name)                                                                        \
    MS_NULL_CALL(int, name, (void **made))                                                         \
    {                                                                                              \
        *made = ms_null_handle();                                                                  \
        return 0;                                                                                  \
    }

/* An unsupported call, whose result would be needed: reports its name and fails with its library's
 * code. */
#define MS_NULL_UNCOVERED(name, code)                                                              \
    MS_NULL_CALL(int, name, (void))                                                                \
    {                                                                                              \
        return ms_null_uncovered(#name, code);                                                     \
    }

/* CUDA's own numbers. */
enum {
    MS_NULL_OK = 0,
    MS_NULL_INVALID_VALUE = 1,
    MS_NULL_OUT_OF_MEMORY = 2,
    MS_NULL_NO_DEVICE = 100,
    MS_NULL_INVALID_DEVICE = 101,
    MS_NULL_NOT_FOUND = 500,
    MS_NULL_NOT_SUPPORTED = 801,
    MS_NULL_CAPTURE_UNSUPPORTED = 900,
    MS_NULL_CAPTURE_INVALIDATED = 901,
    MS_NULL_CAPTURED_EVENT = 907
};

/* ---- the device ---- */

enum { MS_NULL_MAX_DEVICES = 16 };

typedef struct ms_null_device {
    char name[128];
    int capability; /* 80 = 8.0 */
    int multiprocessors;
    uint64_t bytes;        /* total memory that a CUDA program sees */
    uint64_t l2_bytes;     /* level 2 cache, which benchmarks flush with a buffer of its size */
    uint64_t driver_bytes; /* the total that the driver states, at least `bytes` */
    double flops_of_16_bits, flops_of_32_bits, bytes_per_s; /* peaks of products and memory */
    double link_bytes_per_s;                                /* to the host and back, each */
    int installed;                                          /* number of devices */
    int count; /* of these, visible by CUDA_VISIBLE_DEVICES */
} ms_null_device;

/* Read from the environment once. */
const ms_null_device *ms_null_device_get(void);

/* The current device of the calling thread. */
int ms_null_current_device(void);

/* Largest shared memory of a block, and threads of a multiprocessor, by compute capability. */
int ms_null_shared_bytes(void);
int ms_null_threads(void);

/* Blocks of a kernel per multiprocessor. An assumption: the real number depends on the kernel, and
 * affects temporaries of a few KiB. */
enum { MS_NULL_BLOCKS_AT_ONCE = 2 };

/* ---- the listener ---- */

/* `read` is called for copies to the host, `uncovered` for unsupported calls; NULL: none. */
typedef struct ms_null_listener {
    void (*read)(const void *from, uint64_t bytes, int played_back);
    void (*uncovered)(const char *name);
} ms_null_listener;
const ms_null_listener *ms_null_listening(void);

/* Notifies the listener, or prints the name, once; returns `code`. */
int ms_null_uncovered(const char *name, int code);

/* A unique handle. */
void *ms_null_handle(void);

#endif
