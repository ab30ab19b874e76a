/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Device memory, pinned host memory, and managed memory, which host and device both use.
 */
#ifndef MS_HARDWARE_NULLDEVICE_MEMORY_H
#define MS_HARDWARE_NULLDEVICE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* Allocates: counts the bytes and reserves an address; NULL when the device is full. */
void *ms_null_allocate(int device, uint64_t bytes);
void ms_null_free(const void *address);
/* The parts of an expandable segment: addresses only, and memory only (a handle, 0 when full). */
void *ms_null_reserve(int device, uint64_t bytes);
void ms_null_unreserve(const void *address);
uint64_t ms_null_take(int device, uint64_t bytes);
void ms_null_give_back(uint64_t handle);
uint64_t ms_null_free_bytes(int device);
/* The device of a device address; -1 for any other address. */
int ms_null_device_of(const void *address);
void *ms_null_pin(uint64_t bytes);
void ms_null_unpin(void *address);
bool ms_null_is_pinned(const void *address);
/* The host uses it as its own; what it does not touch takes no memory. It may exceed the device. */
void *ms_null_manage(uint64_t bytes);
/* The device that a managed address was allocated on; -1 for any other address. */
int ms_null_manager_of(const void *address);

#endif
