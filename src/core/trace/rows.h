/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The members of each kind of row of a trace; schemas/trace.schema.json documents them.
 */
#ifndef MS_CORE_TRACE_ROWS_H
#define MS_CORE_TRACE_ROWS_H

#include "core/trace/members.h"

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
