/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What files store of the weights, and why another number of bytes is loaded, as sentences.
 */
#ifndef MS_REPORT_INFER_STORED_VIEW_H
#define MS_REPORT_INFER_STORED_VIEW_H

#include "base/json/members.h"
#include "report/infer/infer_view.h"

/* Whether there are files of weights beside a config. */
bool ms_infer_has_stored(const ms_infer_view *view);
/* "291 tensors in 4 files"; NULL when out of memory. */
const char *ms_infer_stored_text(const ms_infer_view *view);
/* "I32 packed"; NULL past the last, and when out of memory. */
const char *ms_infer_stored_kind(const ms_infer_view *view, uint32_t index);
/* "F32 is loaded as bf16, 14.96 GiB less"; the same as stored: "as they are stored". NULL when out
 * of memory. */
const char *ms_infer_loaded_text(const ms_infer_view *view);
/* The member "stored". */
extern const ms_members ms_infer_stored_table;

#endif
