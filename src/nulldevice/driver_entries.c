/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How the driver's callers find its calls by name.
 */
#define _GNU_SOURCE /* for RTLD_DEFAULT; NOLINT(bugprone-reserved-identifier) */
#include <dlfcn.h>
#include <stdio.h>

#include "nulldevice/nulldevice.h"

/* CUdriverProcAddressQueryResult */
enum { ENTRY_FOUND = 0, ENTRY_NOT_FOUND = 1 };

/* The name is that of CUDA's documentation; the call of today may end in a version. */
static void *entry_point(const char *name)
{
    char second[128];
    void *found = dlsym(RTLD_DEFAULT, name);
    snprintf(second, sizeof second, "%s_v2", name);
    return found ? found : dlsym(RTLD_DEFAULT, second);
}

/* Libraries ask for all the names that they know, and never call most of them: one that is absent
 * is told to the caller, as CUDA does, and is no call that is not covered. */
static int find_entry(const char *name, void **function, int *found)
{
    *function = entry_point(name);
    if (found)
        *found = *function ? ENTRY_FOUND : ENTRY_NOT_FOUND;
    return *function || found ? MS_NULL_OK : MS_NULL_NOT_FOUND;
}

MS_NULL_CALL(int, cudaGetDriverEntryPointByVersion,
             (const char *name, void **function, unsigned version, unsigned long long flags,
              int *found))
{
    (void)version, (void)flags;
    return find_entry(name, function, found);
}

/* CUDA 12's. */
MS_NULL_CALL(int, cudaGetDriverEntryPoint,
             (const char *name, void **function, unsigned long long flags, int *found))
{
    (void)flags;
    return find_entry(name, function, found);
}

MS_NULL_CALL(int, cuGetProcAddress_v2,
             (const char *name, void **function, int version, unsigned long long flags, int *found))
{
    (void)version, (void)flags;
    return find_entry(name, function, found);
}

/* CUDA 11's. */
MS_NULL_CALL(int, cuGetProcAddress,
             (const char *name, void **function, int version, unsigned long long flags))
{
    (void)version, (void)flags;
    return find_entry(name, function, NULL);
}
