/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What small copies from the host wrote is remembered by address, so that a program gets back what
 * it put there.
 */
#ifndef MS_NULLDEVICE_REMEMBERED_H
#define MS_NULLDEVICE_REMEMBERED_H

#include <stdbool.h>
#include <stdint.h>

/* Of larger copies nothing is remembered. */
enum { MS_NULL_REMEMBERED_BYTES = 1 << 20 };

void ms_null_remember(void *to, const void *from, uint64_t bytes);
/* The same, of what is remembered of other addresses. */
void ms_null_remember_copy(void *to, const void *from, uint64_t bytes);
/* Writes what is remembered of all those addresses to the host; false: it is not known. */
bool ms_null_recall(void *to, const void *from, uint64_t bytes);
/* What was remembered of those addresses is no longer there. */
void ms_null_forget(const void *address, uint64_t bytes);

#endif
