/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hardware/replay/cuda/cuda_facts.h"

#include <stdio.h>
#include <stdlib.h>

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

int ms_replay_cuda_facts(const ms_cuda *cuda, int device, ms_backend_facts *facts)
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
