/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory alive at the peak in static_report.json, by category, layer, tensor and module.
 */
#ifndef MS_REPORT_STEP_JSON_PEAK_H
#define MS_REPORT_STEP_JSON_PEAK_H

#include "base/json/write.h"
#include "report/view/view.h"

void ms_json_peak(ms_json_writer *w, const ms_view *view);
/* False: out of memory. */
bool ms_json_modules(ms_json_writer *w, const ms_view *view);

#endif
