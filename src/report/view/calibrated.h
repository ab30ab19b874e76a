/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The figures that a calibration changed, for every format. Nothing is written without a
 * calibration.
 */
#ifndef MS_REPORT_VIEW_CALIBRATED_H
#define MS_REPORT_VIEW_CALIBRATED_H

#include "input/config/run/run_config.h"
#include "base/json/write.h"
#include "report/kit/page.h"

void ms_calibrated_console(const ms_page *page, const ms_run_config *run, ms_arena *arena);
void ms_calibrated_markdown(FILE *out, const ms_run_config *run, ms_arena *arena);
void ms_calibrated_html(FILE *out, const ms_run_config *run, ms_arena *arena);
void ms_calibrated_json(ms_json_writer *w, const ms_run_config *run, ms_arena *arena);

#endif
