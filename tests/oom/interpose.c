/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * glibc lets a program bring its own malloc; this one passes on to glibc's.
 */
#include <stdlib.h>

#include "oom/fail.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);
void __libc_free(void *block);

void *malloc(size_t size)
{
    return fail_now() ? NULL : fail_note(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return fail_now() ? NULL : fail_note(__libc_calloc(count, size));
}

void *realloc(void *block, size_t size)
{
    if (fail_now())
        return NULL;
    fail_forget(block);
    return fail_note(__libc_realloc(block, size));
}

void free(void *block)
{
    fail_forget(block);
    __libc_free(block);
}
