/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Copies between host and devices, and memset.
 */
#ifndef MS_HARDWARE_NULLDEVICE_COPIES_H
#define MS_HARDWARE_NULLDEVICE_COPIES_H

#include <stdint.h>

void ms_null_copy(void *to, const void *from, uint64_t bytes);
void ms_null_fill(void *to, int value, uint64_t bytes);

#endif
