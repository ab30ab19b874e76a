/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One of several ranks compared with a run of the same settings on one device.
 */
#ifndef MS_RUN_SIMULATE_ONE_DEVICE_H
#define MS_RUN_SIMULATE_ONE_DEVICE_H

#include "base/arena.h"
#include "run/simulate/simulate.h"

/* What one device needs. Bytes are those of its own report: blocks alive at the peak of its steady
 * step, which may be at another moment than the rank's. */
typedef struct ms_one_device {
    const char *meaning; /* what runs on it: "the same settings without --parallel"; NULL: nothing
                            was simulated */
    const char *unknown; /* why there is nothing to compare with; NULL if there is, or for a run
                            without several ranks */
    uint64_t category_bytes[MS_CATEGORY_COUNT]; /* their sum is peak_bytes */
    uint64_t peak_bytes, reserved_bytes, device_bytes;
} ms_one_device;

/* Simulates the run of a rank's job without its layout. What has no counterpart on one device, or
 * would be another training there, is not simulated: see `unknown`. Texts are static or in the
 * arena. MS_ERR_NOMEM, or what a simulation fails with. */
ms_status ms_one_device_simulate(const ms_job *rank, ms_arena *arena, ms_one_device *one,
                                 ms_error *err);

#endif
