/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Remembers the contents of small copies from the host, by address, so that a program can read them
 * back.
 */
#ifndef MS_HARDWARE_NULLDEVICE_REMEMBERED_H
#define MS_HARDWARE_NULLDEVICE_REMEMBERED_H

#include <stdbool.h>
#include <stdint.h>

/* Larger copies are not remembered. */
enum { MS_NULL_REMEMBERED_BYTES = 1 << 20 };

void ms_null_remember(void *to, const void *from, uint64_t bytes);
/* The same for a copy between device addresses. */
void ms_null_remember_copy(void *to, const void *from, uint64_t bytes);
/* Writes the remembered contents of the range to the host; false if not all of it is known. */
bool ms_null_recall(void *to, const void *from, uint64_t bytes);
/* Forgets the contents of the range. */
void ms_null_forget(const void *address, uint64_t bytes);

#endif
