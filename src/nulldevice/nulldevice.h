/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A CUDA device that is not there. The library is loaded before NVIDIA's and answers the calls that
 * PyTorch makes: memory is address space, kernels do not run, everything is done at once. Above it
 * runs PyTorch's own code, its caching allocator included, so that its memory figures are those of
 * the device that the environment describes:
 *
 *     MEMSCOPE_NULL_DEVICE=NAME|capability times ten|multiprocessors|bytes|bytes of L2
 *     MEMSCOPE_NULL_COUNT=number of such devices
 *
 * Callers pass arguments that many functions here do not look at. Such a function has no
 * parameters: on the machines that CUDA runs on, the caller cleans up.
 */
#ifndef MS_NULLDEVICE_NULLDEVICE_H
#define MS_NULLDEVICE_NULLDEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Declares and begins a function that other libraries call. */
#define MS_NULL_CALL(type, name, parameters)                                                       \
    __attribute__((visibility("default"))) type name parameters;                                   \
    type name parameters

/* A call that has nothing to do: its library's code for success is 0. */
#define MS_NULL_SUCCEEDS(name)                                                                     \
    MS_NULL_CALL(int, name, (void))                                                                \
    {                                                                                              \
        return 0;                                                                                  \
    }

/* A call whose result would be needed: it reports its name and fails with its library's code. */
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
    MS_NULL_NOT_SUPPORTED = 801
};

/* ---- the device ---- */

enum { MS_NULL_MAX_DEVICES = 16 };

typedef struct ms_null_device {
    char name[128];
    int capability; /* 80 = 8.0 */
    int multiprocessors;
    uint64_t bytes;    /* what a CUDA program sees as total */
    uint64_t l2_bytes; /* level 2 cache, which benchmarks flush with a buffer of its size */
    int installed;     /* how many there are */
    int count;         /* of them that CUDA_VISIBLE_DEVICES leaves */
} ms_null_device;

/* Read from the environment once. */
const ms_null_device *ms_null_device_get(void);

/* Of the calling thread. */
int ms_null_current_device(void);

/* Largest shared memory of a block, and threads of a multiprocessor, by compute capability. */
int ms_null_shared_bytes(void);
int ms_null_threads(void);

/* Blocks of a kernel that a multiprocessor runs. An assumption: it depends on the kernel, and
 * decides about temporaries of a few KiB. */
enum { MS_NULL_BLOCKS_AT_ONCE = 2 };

/* ---- memory ---- */

/* Memory that counts, at an address that is reserved; NULL when the device is full. */
void *ms_null_allocate(int device, uint64_t bytes);
void ms_null_free(const void *address);
/* Addresses alone, and memory alone (a handle, 0 when full): the parts of an expandable segment. */
void *ms_null_reserve(int device, uint64_t bytes);
void ms_null_unreserve(const void *address);
uint64_t ms_null_take(int device, uint64_t bytes);
void ms_null_give_back(uint64_t handle);
uint64_t ms_null_free_bytes(int device);
/* Of a device address; -1 for any other. */
int ms_null_device_of(const void *address);

void *ms_null_pin(uint64_t bytes);
void ms_null_unpin(void *address);
bool ms_null_is_pinned(const void *address);

/* ---- copies ---- */

void ms_null_copy(void *to, const void *from, uint64_t bytes);
void ms_null_fill(void *to, int value, uint64_t bytes);

/* ---- who listens ---- */

/* `read` is called for copies to the host, `uncovered` for calls without an answer; NULL: none. */
typedef struct ms_null_listener {
    void (*read)(const void *from, uint64_t bytes, int played_back);
    void (*uncovered)(const char *name);
} ms_null_listener;
const ms_null_listener *ms_null_listening(void);

/* Notifies the listener, or prints the name, once; returns `code`. */
int ms_null_uncovered(const char *name, int code);

/* A handle that nothing else has. */
void *ms_null_handle(void);

#endif
