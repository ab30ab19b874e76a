/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the JSON of an answer and that of a table share, and the table itself
 * (schemas/infer_rows.schema.json).
 */
#ifndef MS_REPORT_INFER_ROWS_JSON_H
#define MS_REPORT_INFER_ROWS_JSON_H

#include "base/json/members.h"
#include "report/infer/rows_view.h"

extern const ms_members ms_infer_fit_table;
extern const ms_members ms_infer_row_table; /* the figures of a row that has some */
bool ms_infer_rows_json(FILE *out, const ms_infer_view *view);

#endif
