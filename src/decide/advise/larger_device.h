/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_DECIDE_ADVISE_LARGER_DEVICE_H
#define MS_DECIDE_ADVISE_LARGER_DEVICE_H

#include "input/config/run/run_config.h"

/* What a run may move to. */
typedef struct ms_other_devices {
    const ms_device *items; /* all of the table, in the arena */
    uint32_t count;         /* 0: the run has a budget or a calibration of its own device */
} ms_other_devices;

ms_status ms_other_devices_load(ms_arena *arena, const ms_run_config *run, ms_other_devices *others,
                                ms_error *err);

/* The smallest of the same maker with more memory than the run's and no less than `needed_bytes`;
 * NULL: there is none. */
const ms_device *ms_larger_device(const ms_other_devices *others, const ms_run_config *run,
                                  uint64_t needed_bytes);

#endif
