/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hardware/replay/cuda/cuda_pages.h"

#include "core/allocator/memory.h"

/* What the allocator maps in: pages of this size for large blocks, else of a tenth of it. */
#define LARGE_PAGE_BYTES MS_MEMORY_ALIGNMENT
#define SMALL_PAGE_BYTES (LARGE_PAGE_BYTES / 10)

void ms_replay_pages_free(ms_cuda_pages *pages)
{
    ms_vec_free(&pages->pages);
    ms_vec_free(&pages->spaces);
}

/* The driver aligns to powers of two only. */
int ms_replay_pages_reserve(ms_cuda_pages *pages, const ms_cuda *cuda, uint64_t bytes,
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

void ms_replay_pages_release(ms_cuda_pages *pages, const ms_cuda *cuda, uint64_t address)
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

int ms_replay_pages_map(ms_cuda_pages *pages, const ms_cuda *cuda, int device, uint64_t address,
                        uint64_t bytes)
{
    bool is_large = address % LARGE_PAGE_BYTES == 0 && bytes % LARGE_PAGE_BYTES == 0;
    uint64_t page_bytes = is_large ? LARGE_PAGE_BYTES : SMALL_PAGE_BYTES;
    for (uint64_t at = 0; at < bytes; at += page_bytes) {
        int code = map_page(pages, cuda, device,
                            (ms_cuda_page){.address = address + at, .bytes = page_bytes});
        if (code != MS_CUDA_OK) {
            ms_replay_pages_unmap(pages, cuda, address, at);
            return code;
        }
    }
    return MS_CUDA_OK;
}

void ms_replay_pages_unmap(ms_cuda_pages *pages, const ms_cuda *cuda, uint64_t address,
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
