/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Allocation that can be told to fail. The linker sends every malloc, calloc, realloc, free, strdup
 * and strndup of the linked objects here (--wrap), and cJSON's own through its hooks, so the product
 * needs none.
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

#endif
