/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 *   arena -> newest chunk -> older chunk -> ... -> oldest
 *
 * A request is served from the newest chunk; if it does not fit, a new chunk is added: of twice the
 * newest one's size, from LEAST_CHUNK_BYTES to MOST_CHUNK_BYTES, or of its own size where that is
 * larger. Chunks come from calloc, so memory is zeroed.
 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/locale.h"

enum { LEAST_CHUNK_BYTES = 8 * 1024, MOST_CHUNK_BYTES = 64 * 1024 };

typedef struct chunk {
    struct chunk *older;
    size_t used_bytes, size_bytes;
    max_align_t data[];
} chunk;

struct ms_arena {
    chunk *newest;
    size_t used_bytes, limit_bytes;
    bool has_failed;
    struct ms_inputs *inputs;
};

ms_arena *ms_arena_create(size_t limit_bytes)
{
    ms_arena *arena = calloc(1, sizeof *arena);
    if (arena)
        arena->limit_bytes = limit_bytes ? limit_bytes : SIZE_MAX;
    return arena;
}

void ms_arena_free(ms_arena *arena)
{
    if (!arena)
        return;
    for (chunk *c = arena->newest, *older; c; c = older) {
        older = c->older;
        free(c);
    }
    free(arena);
}

static size_t next_chunk_bytes(const ms_arena *arena)
{
    size_t newest = arena->newest ? arena->newest->size_bytes : LEAST_CHUNK_BYTES / 2;
    return newest < MOST_CHUNK_BYTES / 2 ? 2 * newest : MOST_CHUNK_BYTES;
}

static chunk *add_chunk(ms_arena *arena, size_t need_bytes)
{
    size_t size_bytes = next_chunk_bytes(arena);
    if (size_bytes < need_bytes)
        size_bytes = need_bytes;
    if (size_bytes > SIZE_MAX - sizeof(chunk))
        return NULL;
    chunk *c = calloc(1, sizeof(chunk) + size_bytes);
    if (!c)
        return NULL;
    c->older = arena->newest;
    c->size_bytes = size_bytes;
    return arena->newest = c;
}

void *ms_arena_alloc(ms_arena *arena, size_t count, size_t size)
{
    size_t need_bytes;
    if (__builtin_mul_overflow(count, size, &need_bytes) ||
        need_bytes > SIZE_MAX - _Alignof(max_align_t))
        return NULL;
    need_bytes =
        (need_bytes + _Alignof(max_align_t) - 1) / _Alignof(max_align_t) * _Alignof(max_align_t);
    if (need_bytes > arena->limit_bytes - arena->used_bytes)
        return NULL;
    chunk *c = arena->newest;
    if (!c || need_bytes > c->size_bytes - c->used_bytes)
        c = add_chunk(arena, need_bytes);
    if (!c) {
        arena->has_failed = true;
        return NULL;
    }
    void *start = (char *)c->data + c->used_bytes;
    c->used_bytes += need_bytes;
    arena->used_bytes += need_bytes;
    return start;
}

void *ms_arena_grow(ms_arena *arena, void *items, uint32_t count, uint32_t *capacity, size_t size,
                    uint32_t least)
{
    if (count < *capacity)
        return items;
    const uint32_t wider = *capacity ? 2 * *capacity : least;
    void *grown = wider > count ? ms_arena_alloc(arena, wider, size) : NULL;
    if (!grown)
        return NULL;
    if (count > 0)
        memcpy(grown, items, count * size);
    *capacity = wider;
    return grown;
}

char *ms_arena_strdup(ms_arena *arena, const char *text)
{
    size_t length = strlen(text) + 1;
    char *copy = ms_arena_alloc(arena, length, 1);
    return copy ? memcpy(copy, text, length) : NULL;
}

char *ms_arena_printf(ms_arena *arena, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = ms_text_vprint(NULL, 0, format, args);
    va_end(args);
    char *text = length < 0 ? NULL : ms_arena_alloc(arena, (size_t)length + 1, 1);
    if (!text)
        return NULL;
    va_start(args, format);
    ms_text_vprint(text, (size_t)length + 1, format, args);
    va_end(args);
    return text;
}

void ms_arena_set_inputs(ms_arena *arena, struct ms_inputs *inputs)
{
    arena->inputs = inputs;
}

struct ms_inputs *ms_arena_inputs(const ms_arena *arena)
{
    return arena->inputs;
}

bool ms_arena_has_failed(const ms_arena *arena)
{
    return arena->has_failed;
}
