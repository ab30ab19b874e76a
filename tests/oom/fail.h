/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Allocation that can be told to fail, without hooks in the product. Two ways to get in between:
 * interpose.c replaces malloc for the whole process, libc and shared libraries included; wrap.c
 * takes the calls of the linked objects from the linker (--wrap), for builds where a sanitizer owns
 * malloc.
 */
#ifndef MS_TESTS_OOM_FAIL_H
#define MS_TESTS_OOM_FAIL_H

#include <stdbool.h>
#include <stddef.h>

/* The n-th allocation from now fails, and only that one; 0 = none. */
void fail_arm(size_t n);
/* Whether the armed failure has happened. */
bool fail_happened(void);
/* Allocations since fail_arm. */
size_t fail_count(void);
/* Blocks that were allocated here and not freed yet. */
size_t fail_live_blocks(void);

/* With one processor the library starts no threads: the n-th allocation is the same every time. */
void fail_on_one_processor(void);

/* For the two ways: whether this allocation is the one to fail; a block came, or went. */
bool fail_now(void);
void *fail_note(void *block);
void fail_forget(const void *block);

#endif
