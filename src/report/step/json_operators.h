/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_REPORT_STEP_JSON_OPERATORS_H
#define MS_REPORT_STEP_JSON_OPERATORS_H

#include "base/json/write.h"
#include "report/view/view.h"

/* Writes the member "operators": one object per record. */
void ms_json_operators(ms_json_writer *w, const char *name, const void *view);

/* Writes the shape of a storage as the member "shape". */
void ms_json_storage_shape(ms_json_writer *w, const ms_trace *trace, const ms_storage *storage);

#endif
