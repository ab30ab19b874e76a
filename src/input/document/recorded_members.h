/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Members and lists of recorded reports, shared by the files that read their parts.
 */
#ifndef MS_INPUT_DOCUMENT_RECORDED_MEMBERS_H
#define MS_INPUT_DOCUMENT_RECORDED_MEMBERS_H

#include "input/document/recorded.h"

/* A member that must be there. */
ms_status ms_recorded_count(ms_json_value object, const char *key, uint64_t *count, ms_error *err);
ms_status ms_recorded_text(ms_json_value object, const char *key, const char **text, ms_error *err);

typedef ms_status ms_recorded_read_fn(ms_json_value v, void *row, ms_error *err);

/* A list of rows of `size` bytes each, in the report's arena; `*count` is 0 after a failure. */
ms_status ms_recorded_rows(const ms_recorded *r, ms_json_value list, size_t size, void **rows,
                           uint32_t *count, ms_recorded_read_fn *read, ms_error *err);

#endif
