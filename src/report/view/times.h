/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the times of a report rest on, for every format. Nothing is written where there are none.
 */
#ifndef MS_REPORT_VIEW_TIMES_H
#define MS_REPORT_VIEW_TIMES_H

#include "input/config/run/run_config.h"
#include "core/device/device.h"
#include "base/json/write.h"
#include "run/measure/playback.h"

/* "times: products 0.78 of peak, ..."; "" where the device's rates are not known. NULL
 * when out of memory. */
const char *ms_times_text(ms_arena *arena, const ms_run_config *run);

/* Members of an open object: the text, and each figure with its source. */
void ms_times_json(ms_json_writer *w, ms_arena *arena, const ms_run_config *run);

#endif
