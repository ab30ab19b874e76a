/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the JSON of an answer and that of a table share, and the table itself
 * (schemas/infer_rows.schema.json).
 */
#ifndef MS_REPORT_INFER_ROWS_JSON_H
#define MS_REPORT_INFER_ROWS_JSON_H

#include "base/json/write.h"
#include "report/infer/rows_view.h"

void ms_infer_lever_json(ms_json_writer *w, const char *lever, uint64_t value);
void ms_infer_fit_json(ms_json_writer *w, const ms_infer_fit *fit);
bool ms_infer_rows_json(FILE *out, const ms_infer_view *view);

#endif
