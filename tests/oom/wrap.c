/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include <cJSON.h>

#include "oom/fail.h"

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

void *__wrap_malloc(size_t size)
{
    return fail_now() ? NULL : fail_note(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fail_now() ? NULL : fail_note(__real_calloc(count, size));
}

void *__wrap_realloc(void *block, size_t size)
{
    if (fail_now())
        return NULL;
    fail_forget(block);
    return fail_note(__real_realloc(block, size));
}

void __wrap_free(void *block)
{
    fail_forget(block);
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
