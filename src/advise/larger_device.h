/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_ADVISE_LARGER_DEVICE_H
#define MS_ADVISE_LARGER_DEVICE_H

#include "config/run/run_config.h"

/* The smallest device of the table, of the same maker, with more memory than the run's and no less
 * than `needed_bytes`, in the arena. *next NULL: there is none, or the run has a budget or a
 * calibration of its own device. */
ms_status ms_larger_device(ms_arena *arena, const ms_run_config *run, uint64_t needed_bytes,
                           const ms_device **next, ms_error *err);

#endif
