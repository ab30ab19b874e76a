/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reads the lines of operators: begin, with operands and products, and end.
 */
#ifndef MS_CORE_TRACE_READING_OPS_H
#define MS_CORE_TRACE_READING_OPS_H

#include "core/trace/reading.h"

ms_status ms_trace_reading_begin_op(ms_trace_reading *reading, ms_json_value v);
ms_status ms_trace_reading_end_op(ms_trace_reading *reading, ms_json_value v);

#endif
