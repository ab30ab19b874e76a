/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The device that the environment describes, and state shared by all libraries of the stub.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hardware/nulldevice/nulldevice.h"

#define ASSUMED_L2_BYTES (UINT64_C(50) << 20) /* of an H100, where it is not known */

static ms_null_device device = {
    .name = "null device", .capability = 80, .multiprocessors = 108, .bytes = UINT64_C(80) << 30};
static ms_null_listener listener;

/* CUDA's rule: numbers or identifiers up to the first that is no device. */
static int count_visible(const char *list, int installed)
{
    int count = 0;
    while (list && *list && count < installed) {
        char *end = NULL;
        long number = strtol(list, &end, 10);
        bool is_number = end != list, is_name = strncmp(list, "GPU-", 4) == 0;
        if ((is_number && (number < 0 || number >= installed)) || (!is_number && !is_name))
            break;
        count++;
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    return count;
}

/* Where rates are not known they are an A100's. */
static void assume_rates(void)
{
    const struct {
        double *rate, assumed;
    } rates[] = {{&device.flops_of_16_bits, 312e12},
                 {&device.flops_of_32_bits, 19.5e12},
                 {&device.bytes_per_s, 2.039e12},
                 {&device.link_bytes_per_s, 25e9}};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        if (!(*rates[i].rate > 0))
            *rates[i].rate = rates[i].assumed;
}

static void read_environment(void)
{
    const char *text = getenv("MEMSCOPE_NULL_DEVICE"), *count = getenv("MEMSCOPE_NULL_COUNT");
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    ms_null_device read = device;
    if (text && sscanf(text, "%127[^|]|%d|%d|%lu|%lu|%lu|%lf|%lf|%lf|%lf", read.name,
                       &read.capability, &read.multiprocessors, &read.bytes, &read.l2_bytes,
                       &read.driver_bytes, &read.flops_of_16_bits, &read.flops_of_32_bits,
                       &read.bytes_per_s, &read.link_bytes_per_s) >= 4)
        device = read;
    else if (text)
        fprintf(stderr,
                "memscope: MEMSCOPE_NULL_DEVICE=%.80s is not name|capability|"
                "multiprocessors|bytes|bytes of L2|driver's bytes|operations per second in 16 bits|"
                "in 32 bits|bytes per second|of the link; the null device is an A100\n",
                text);
    if (device.l2_bytes == 0)
        device.l2_bytes = ASSUMED_L2_BYTES;
    if (device.driver_bytes < device.bytes)
        device.driver_bytes = device.bytes;
    assume_rates();
    int wanted = count ? atoi(count) : 1;
    device.installed = wanted < 1 ? 1 : wanted > MS_NULL_MAX_DEVICES ? MS_NULL_MAX_DEVICES : wanted;
    device.count = visible ? count_visible(visible, device.installed) : device.installed;
}

const ms_null_device *ms_null_device_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_environment);
    return &device;
}

/* CUDA's programming guide, table of technical specifications: KiB of a block after opting in. */
int ms_null_shared_bytes(void)
{
    static const struct {
        int capability, kib;
    } rows[] = {{70, 96}, {75, 64},  {80, 163},  {86, 99},  {87, 163},
                {89, 99}, {90, 227}, {100, 227}, {103, 227}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].capability == ms_null_device_get()->capability)
            return rows[i].kib * 1024;
    return 99 * 1024;
}

int ms_null_threads(void)
{
    switch (ms_null_device_get()->capability) {
    case 75:
        return 1024;
    case 86:
    case 87:
    case 89:
    case 120:
    case 121:
        return 1536;
    default:
        return 2048;
    }
}

void *ms_null_handle(void)
{
    static atomic_uintptr_t last = 0x1000;
    return (void *)(atomic_fetch_add(&last, 16) + 16);
}

/* ---- who listens ---- */

const ms_null_listener *ms_null_listening(void)
{
    return &listener;
}

MS_NULL_CALL(void, memscope_null_listen,
             (void (*read)(const void *, uint64_t, int), void (*uncovered)(const char *)))
{
    listener = (ms_null_listener){read, uncovered};
}

enum { SAID_COUNT = 256 };

int ms_null_uncovered(const char *name, int code)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const char *said[SAID_COUNT];
    static size_t count;
    bool is_new = true;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count && is_new; i++)
        is_new = strcmp(said[i], name) != 0;
    if (is_new && count < SAID_COUNT)
        said[count++] = name;
    pthread_mutex_unlock(&lock);
    if (!is_new)
        return code;
    if (listener.uncovered)
        listener.uncovered(name);
    else
        fprintf(stderr, "memscope: the null device does not cover %s\n", name);
    return code;
}
