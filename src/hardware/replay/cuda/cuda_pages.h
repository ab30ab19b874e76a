/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Addresses and pages of CUDA's driver, for expandable segments.
 */
#ifndef MS_HARDWARE_REPLAY_CUDA_CUDA_PAGES_H
#define MS_HARDWARE_REPLAY_CUDA_CUDA_PAGES_H

#include "base/vec.h"
#include "hardware/replay/cuda/cuda_library.h"

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

void ms_replay_pages_free(ms_cuda_pages *pages);

/* Each returns CUDA's code; MS_CUDA_OUT_OF_MEMORY also when memscope itself is out of memory. */
int ms_replay_pages_reserve(ms_cuda_pages *pages, const ms_cuda *cuda, uint64_t bytes,
                            uint64_t *address);
void ms_replay_pages_release(ms_cuda_pages *pages, const ms_cuda *cuda, uint64_t address);
/* Maps all of the range or nothing. */
int ms_replay_pages_map(ms_cuda_pages *pages, const ms_cuda *cuda, int device, uint64_t address,
                        uint64_t bytes);
void ms_replay_pages_unmap(ms_cuda_pages *pages, const ms_cuda *cuda, uint64_t address,
                           uint64_t bytes);

static inline void *ms_replay_cuda_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
}

#endif
