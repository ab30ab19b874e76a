/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory alive at the peak in static_report.json, by category, layer, tensor and module.
 */
#ifndef MS_REPORT_STEP_JSON_PEAK_H
#define MS_REPORT_STEP_JSON_PEAK_H

#include "base/json/members.h"
#include "report/view/view.h"

extern const ms_members ms_peak_table;
void ms_peak_make(const void *view, void *made);

/* What modules hold at the peak. */
typedef struct ms_module_row {
    const char *name;
    uint64_t count, bytes, rounded_bytes;
} ms_module_row;
extern const ms_members ms_module_table;

typedef struct ms_module_rows {
    const ms_module_row *items;
    uint32_t count;
} ms_module_rows;
/* In the view's arena. False: out of memory. */
bool ms_module_rows_make(const ms_view *view, ms_module_rows *list);

#endif
