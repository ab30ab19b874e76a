/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory of the devices, and pinned memory of the host.
 */
#ifndef MS_NULLDEVICE_MEMORY_H
#define MS_NULLDEVICE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Memory that counts, at an address that is reserved; NULL when the device is full. */
void *ms_null_allocate(int device, uint64_t bytes);
void ms_null_free(const void *address);
/* Addresses alone, and memory alone (a handle, 0 when full): the parts of an expandable segment. */
void *ms_null_reserve(int device, uint64_t bytes);
void ms_null_unreserve(const void *address);
uint64_t ms_null_take(int device, uint64_t bytes);
void ms_null_give_back(uint64_t handle);
uint64_t ms_null_free_bytes(int device);
/* Of a device address; -1 for any other. */
int ms_null_device_of(const void *address);
void *ms_null_pin(uint64_t bytes);
void ms_null_unpin(void *address);
bool ms_null_is_pinned(const void *address);

#endif
