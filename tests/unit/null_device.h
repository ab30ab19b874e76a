/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The CUDA backend on the null device, in a process of its own, with its calls counted.
 */
#ifndef UNIT_NULL_DEVICE_H
#define UNIT_NULL_DEVICE_H

#include <dlfcn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hardware/replay/cuda/backend_cuda.h"
#include "unit/support.h"

/* Devices of the table, and how the null device is told to be one. */
#define A100 "a100-80gb", "NVIDIA A100-SXM4-80GB|80|108|85094825984|41943040"
#define H100 "h100-80gb", "NVIDIA H100 80GB HBM3|90|132|84935409664|52428800"
#define RTX "rtx-4090", "NVIDIA GeForce RTX 4090|89|128|25429278720|75497472"

static char library[4096];

static inline void find_library(void)
{
    const char *build = getenv("BUILD");
    snprintf(library, sizeof library, "%s%s/nulldevice/libmemscope_null.so",
             build && *build == '/' ? "" : "./", build ? build : "build/release");
}

/* The null device reads its environment once, so each case is a process of its own. */
static inline void run_apart(void (*check)(const void *), const void *row)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        check(row);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* In the child: cmocka's own assertions would jump into the parent's tests. */
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);              \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static inline ms_backend *open_device(const char *environment)
{
    const ms_backend_cuda_options options = {.library = library};
    ms_backend *backend = NULL;
    ms_error err = {0};
    setenv("MEMSCOPE_NULL_DEVICE", environment, 1);
    setenv("MEMSCOPE_NULL_COUNT", "1", 1);
    setenv("MEMSCOPE_NULL_CALLS", "1", 1);
    if (ms_replay_cuda_open(&options, &backend, &err) != MS_OK)
        fprintf(stderr, "%s\n", err.text);
    REQUIRE(backend);
    return backend;
}

/* ---- calls that were counted ---- */

enum { MOST_CALLS = 64 };
static struct counted {
    char name[64];
    uint64_t count;
} counted[MOST_CALLS];
static size_t counted_count;
static char uncovered[64];

static inline void take_count(const char *name, uint64_t count)
{
    if (counted_count < MOST_CALLS) {
        snprintf(counted[counted_count].name, sizeof counted->name, "%s", name);
        counted[counted_count++].count = count;
    }
}

static inline uint64_t calls_of(const char *name)
{
    for (size_t i = 0; i < counted_count; i++)
        if (strcmp(counted[i].name, name) == 0)
            return counted[i].count;
    return 0;
}

static inline void take_uncovered(const char *name)
{
    snprintf(uncovered, sizeof uncovered, "%s", name);
}

static inline void find(void *handle, const char *name, void *function)
{
    void *found = dlsym(handle, name);
    REQUIRE(found);
    memcpy(function, &found, sizeof found);
}

static inline void listen(void)
{
    void (*to)(void (*)(const void *, uint64_t, int), void (*)(const char *));
    find(dlopen(library, RTLD_NOW), "memscope_null_listen", &to);
    to(NULL, take_uncovered);
}

static inline void count_calls(void)
{
    void (*tell)(void (*)(const char *, uint64_t));
    find(dlopen(library, RTLD_NOW), "memscope_null_calls", &tell);
    tell(take_count);
}

/* Each stream and event is closed, each range returned. */
static inline void require_returned(void)
{
    count_calls();
    REQUIRE(*uncovered == '\0');
    REQUIRE(calls_of("cudaMalloc") + 1 == calls_of("cudaFree")); /* one makes the context */
    REQUIRE(calls_of("cuMemCreate") == calls_of("cuMemRelease"));
    REQUIRE(calls_of("cuMemMap") == calls_of("cuMemUnmap"));
    REQUIRE(calls_of("cuMemAddressReserve") == calls_of("cuMemAddressFree"));
    REQUIRE(calls_of("cudaEventCreate") == calls_of("cudaEventDestroy"));
    REQUIRE(calls_of("cudaStreamCreateWithFlags") == calls_of("cudaStreamDestroy"));
    REQUIRE(calls_of("cudaHostAlloc") == calls_of("cudaFreeHost"));
    REQUIRE(calls_of("cublasCreate_v2") == 1 && calls_of("cublasDestroy_v2") == 1);
}

#endif
