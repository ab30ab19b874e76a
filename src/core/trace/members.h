/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of a trace as JSON objects; schemas/trace.schema.json documents them.
 */
#ifndef MS_CORE_TRACE_MEMBERS_H
#define MS_CORE_TRACE_MEMBERS_H

#include "base/json/members.h"
#include "core/trace/words.h"

/* The table that an index refers to, and what else is looked at when a member is read. */
typedef enum ms_row_kind {
    MS_ROW_NOTHING,
    MS_ROW_NAME,
    MS_ROW_SYMBOL,
    MS_ROW_SCOPE,
    MS_ROW_STREAM,
    MS_ROW_STORAGE,
    MS_ROW_OP,
    MS_ROW_WORK,
    MS_ROW_KINDS,
    MS_ROW_DIMENSIONS = MS_ROW_KINDS, /* of a list: no more than a tensor may have */
    MS_ROW_SIZES                      /* of a list: as many as its dimensions */
} ms_row_kind;

/* Fills a zeroed row. `rows` has the number of rows of each kind, which bounds indices. Texts
 * belong to the document. An error has the place in the file. */
ms_status ms_trace_row_read(const ms_members *members, ms_json_value object,
                            const uint32_t rows[MS_ROW_KINDS], void *row, ms_error *err);

extern const ms_members ms_symbol_members;  /* ms_symbol */
extern const ms_members ms_scope_members;   /* ms_scope */
extern const ms_members ms_stream_members;  /* ms_stream */
extern const ms_members ms_storage_members; /* ms_storage */
extern const ms_members ms_mark_members;    /* ms_mark */
extern const ms_members ms_work_members;    /* ms_work */
extern const ms_members ms_wait_members;    /* ms_wait */
extern const ms_members ms_use_members;     /* ms_use */
extern const ms_members ms_op_members;      /* ms_op_exec without its operands and products */
extern const ms_members ms_operand_members; /* ms_operand */
extern const ms_members ms_gemm_members;    /* ms_gemm */

#endif
