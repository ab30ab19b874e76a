/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of a table of devices: the run simulated, searched or planned on each of them.
 */
#ifndef MS_API_DEVICES_DEVICE_ROWS_H
#define MS_API_DEVICES_DEVICE_ROWS_H

#include "api/devices/devices.h"
#include "input/config/load/load.h"
#include "memscope/plan.h"
#include "report/runs/runs_view.h"
#include "decide/sweep/figures.h"

/* The run of all rows, without its device, which is the last of its settings. */
typedef struct ms_device_run {
    const ms_run_setting *settings;
    size_t count; /* one more than the run's own */
    ms_inputs *inputs;
} ms_device_run;

/* Each fills rows[0 .. devices->count - 1] in the order of the devices. `first` is why the first
 * row without figures has none. Texts are in the arena. MS_ERR_NOMEM and MS_ERR_STOPPED end it. */
ms_status ms_device_rows_find(ms_arena *arena, const ms_device_run *run,
                              const ms_question *question, const ms_device_list *devices,
                              ms_runs_row *rows, ms_error *first, ms_error *err);
ms_status ms_device_rows_plan(ms_arena *arena, const ms_plan *plan, const ms_device_list *devices,
                              ms_runs_row *rows, ms_error *first, ms_error *err);

#endif
