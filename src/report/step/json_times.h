/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Part of static_report.json: what its times rest on, and the roofline's, from which `memscope
 * calibrate` fits.
 */
#ifndef MS_REPORT_STEP_JSON_TIMES_H
#define MS_REPORT_STEP_JSON_TIMES_H

#include "base/json/write.h"
#include "report/view/view.h"

/* "times"; nothing where the device's rates are not known. */
void ms_json_times(ms_json_writer *w, const char *name, const void *view);

#endif
