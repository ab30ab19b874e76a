/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "oom/fail.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cJSON.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t size);
void __wrap_free(void *block);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);

static size_t armed, seen;
static bool happened;

/* Live blocks, an open-addressing set. Blocks that libc made (open_memstream) are not in it. */
enum { SLOTS = 1 << 16 };
static const void *slots[SLOTS];
static size_t live;
#define GONE ((const void *)&live)

static size_t slot_of(const void *block)
{
    return ((uintptr_t)block >> 4) * 0x9E3779B97F4A7C15u >> 48;
}

static void *note(void *block)
{
    size_t i = slot_of(block);
    if (!block) {
        return block;
    }
    if (live == SLOTS / 2) {
        fputs("fail.c: too many live blocks\n", stderr);
        abort();
    }
    while (slots[i] && slots[i] != GONE) {
        i = (i + 1) % SLOTS;
    }
    slots[i] = block;
    live++;
    return block;
}

static void forget(const void *block)
{
    size_t i = slot_of(block);
    for (size_t steps = 0; slots[i] && steps < SLOTS; steps++, i = (i + 1) % SLOTS) {
        if (slots[i] == block) {
            slots[i] = GONE;
            live--;
            return;
        }
    }
}

static bool fails(void)
{
    seen++;
    if (armed == 0 || seen != armed) {
        return false;
    }
    happened = true;
    errno = ENOMEM;
    return true;
}

void fail_arm(size_t n)
{
    armed = n;
    seen = 0;
    happened = false;
}

bool fail_happened(void)
{
    return happened;
}

size_t fail_count(void)
{
    return seen;
}

size_t fail_live_blocks(void)
{
    return live;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : note(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : note(__real_calloc(count, size));
}

void *__wrap_realloc(void *block, size_t size)
{
    if (fails()) {
        return NULL;
    }
    forget(block);
    return note(__real_realloc(block, size));
}

void __wrap_free(void *block)
{
    forget(block);
    __real_free(block);
}

char *__wrap_strdup(const char *text)
{
    return __wrap_strndup(text, strlen(text));
}

char *__wrap_strndup(const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    char *copy = __wrap_malloc(length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

/* cJSON is a shared library, out of the linker's reach, but it has hooks. */
__attribute__((constructor)) static void hook_cjson(void)
{
    cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = __wrap_malloc, .free_fn = __wrap_free});
}
