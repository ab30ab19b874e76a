/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a program allocates on the device and in pinned host memory, and which functions asked for
 * it: lines of a file in MEMSCOPE_CAPTURE_DIR, for programs in which no Python package listens.
 */
#ifndef MS_HARDWARE_NULLDEVICE_LEDGER_H
#define MS_HARDWARE_NULLDEVICE_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

/* Kinds of memory, as the lines name them. */
enum {
    MS_NULL_OF_DEVICE = 'd',
    MS_NULL_OF_HANDLE = 'v', /* of cuMemCreate */
    MS_NULL_OF_HOST = 'h'    /* pinned */
};

/* `id` is the address or the handle; `granted` counts what the device uses for it. */
void ms_null_note_taken(char kind, int device, uint64_t id, uint64_t asked, uint64_t granted);
void ms_null_note_given_back(char kind, int device, uint64_t id);
/* The memory there is cuBLAS's workspace. */
void ms_null_note_workspace(const void *address);
/* The driver's pools were asked: 'a' answered, 'u' not covered. */
void ms_null_note_pool(char how, const char *call);
void ms_null_note_refused(char kind, int device, uint64_t asked);

#endif
