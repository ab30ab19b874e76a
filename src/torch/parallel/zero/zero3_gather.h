/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How far the host may run ahead of the device under ZeRO-3.
 */
#ifndef MS_TORCH_PARALLEL_ZERO_ZERO3_GATHER_H
#define MS_TORCH_PARALLEL_ZERO_ZERO3_GATHER_H

#include "torch/parallel/zero/zero.h"

/* ---- zero3 events ---- */

/* How far the host may run ahead of the device under ZeRO-3. */

/* Events that the host recorded, the oldest first, and has not seen done. */
typedef struct ms_zero3_events {
    ms_zero_indices numbers;
    uint32_t first;
} ms_zero3_events;

/* Before what may not get too far ahead: with more than two events that are not done the host waits
 * for the oldest. Afterwards one more is recorded. */
void ms_zero3_limit(ms_tape *tape, ms_zero3_events *events);
void ms_zero3_note(ms_tape *tape, ms_zero3_events *events);

#endif
