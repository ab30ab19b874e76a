/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The null device, loaded as a program loads CUDA: two devices of 64 MiB that count their calls,
 * with 1e14 operations of products a second in 16 bits and 1e13 in 32, 1e12 bytes of memory and
 * 1e10 of the link to the host.
 */
#ifndef UNIT_NULLDEVICE_H
#define UNIT_NULLDEVICE_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/support.h"

enum { OK = 0 };
#define MIB ((size_t)1 << 20)
#define TOTAL_BYTES (64 * MIB)

static void *library;

/* A function of the library by its name. */
static void find(const char *name, void *function)
{
    void *found = dlsym(library, name);
    if (!found)
        fail_msg("%s: %s", name, dlerror());
    memcpy(function, &found, sizeof found);
}

static int open_library(void **state)
{
    char path[4096];
    const char *build = getenv("BUILD");
    (void)state;
    setenv("MEMSCOPE_NULL_DEVICE",
           "A device|89|58|67108864|75497472|68157440|100e12|10e12|1e12|10e9", 1);
    setenv("MEMSCOPE_NULL_COUNT", "2", 1);
    setenv("MEMSCOPE_NULL_CALLS", "1", 1);
    snprintf(path, sizeof path, "./%s/nulldevice/libmemscope_null.so",
             build ? build : "build/release");
    library = dlopen(build && *build == '/' ? path + 2 : path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        print_error("%s\n", dlerror());
    return library ? 0 : -1;
}

#endif
