/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The trace of the run, from its build to the last step: schemas/trace.schema.json.
 */
#include "memscope/memscope.h"
#include "report/kit/writer_list.h"
#include "report/view/view.h"
#include "core/trace/trace.h"

bool ms_report_trace(FILE *out, const ms_view *view)
{
    const ms_trace_facts facts = {"memscope " MS_VERSION, view->title};
    ms_trace_write(&view->ledger->simulation->trace, &facts, out);
    return true;
}
