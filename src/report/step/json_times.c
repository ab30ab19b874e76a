/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/step/json_times.h"

#include "report/view/times.h"

static void write_roofline(ms_json_writer *w, const ms_ledger *ledger)
{
    double ms[MS_OP_CLASSES] = {0};
    for (uint32_t i = 0; i < ledger->records.count; i++) {
        const ms_record *record = &ledger->records.items[i];
        if (record->op == MS_NONE)
            continue;
        const ms_op_exec *op = &ledger->simulation->trace.ops.items[record->op];
        ms[ms_op_class_of(op->name, op->flops > 0)] +=
            record->count * ms_clock_roofline_ms(ledger->run->device, op);
    }
    ms_json_object_inline(w, "roofline_ms");
    for (int i = 0; i < MS_OP_CLASSES; i++)
        ms_json_double(w, ms_op_class_names[i], ms[i], 4);
    ms_json_close(w);
}

void ms_json_times(ms_json_writer *w, const char *name, const void *of)
{
    const ms_view *view = of;
    const ms_run_config *run = view->ledger->run;
    if (!(view->summary->step_time_ms > 0))
        return;
    ms_json_object(w, name);
    ms_times_json(w, view->arena, run);
    write_roofline(w, view->ledger);
    ms_json_close(w);
}
