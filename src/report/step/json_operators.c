/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/step/json_operators.h"

#include <inttypes.h>
#include <math.h>

#include "report/kit/category_id.h"
#include "core/trace/words.h"

void ms_json_storage_shape(ms_json_writer *w, const ms_trace *trace, const ms_storage *storage)
{
    ms_json_array_inline(w, "shape");
    for (uint32_t i = 0; i < storage->rank; i++)
        ms_json_uint(w, NULL, trace->symbols.table.items[storage->symbols[i]].value);
    ms_json_close(w);
}

/* The tensor itself is what a persistent record puts out. */
static void write_tensor(ms_json_writer *w, const ms_trace *trace, const ms_storage *storage)
{
    ms_json_object_inline(w, NULL);
    ms_json_string(w, "name", trace->names.items[storage->name]);
    ms_json_storage_shape(w, trace, storage);
    ms_json_string(w, "dtype", ms_dtype_info_of((ms_dtype)storage->dtype)->name);
    ms_json_uint(w, "bytes", storage->bytes);
    ms_json_close(w);
}

static void write_operand(ms_json_writer *w, const ms_trace *trace, const ms_operand *operand)
{
    uint64_t bytes = ms_dtype_bytes((ms_dtype)operand->dtype);
    const ms_storage *storage =
        operand->storage == MS_NONE ? NULL : &trace->storages.items[operand->storage];
    ms_json_object_inline(w, NULL);
    ms_json_string(w, "name", storage ? ms_storage_label(trace, storage) : "");
    ms_json_array_inline(w, "shape");
    for (uint32_t i = 0; i < operand->rank; i++) {
        ms_json_uint(w, NULL, operand->sizes[i]);
        bytes *= operand->sizes[i];
    }
    ms_json_close(w);
    ms_json_string(w, "dtype", ms_dtype_info_of((ms_dtype)operand->dtype)->name);
    ms_json_uint(w, "bytes", bytes);
    ms_json_close(w);
}

typedef enum side { SIDE_INPUTS, SIDE_OUTPUTS } side;

static void write_operands(ms_json_writer *w, const ms_view *view, const ms_record *r, side which)
{
    const ms_trace *trace = &view->ledger->simulation->trace;
    ms_json_array(w, which == SIDE_OUTPUTS ? "outputs" : "inputs");
    if (r->op == MS_NONE) {
        if (which == SIDE_OUTPUTS)
            write_tensor(w, trace,
                         &trace->storages.items[view->ledger->parts.items[r->first_part]]);
    } else {
        const ms_op_exec *op = &trace->ops.items[r->op];
        for (uint32_t i = 0; i < op->operand_count; i++) {
            const ms_operand *operand = &trace->operands.items[op->first_operand + i];
            if (operand->is_output == (which == SIDE_OUTPUTS))
                write_operand(w, trace, operand);
        }
    }
    ms_json_close(w);
}

static void write_notes(ms_json_writer *w, const ms_view *view, const ms_record *r)
{
    ms_json_array_inline(w, "notes");
    if (r->count > 1) {
        char text[80];
        snprintf(text, sizeof text, "one of %" PRIu32 " equal ones; bytes are of one", r->count);
        ms_json_string(w, NULL, text);
    }
    if (r->op != MS_NONE &&
        view->ledger->simulation->trace.ops.items[r->op].pass == MS_PASS_RECOMPUTE)
        ms_json_string(w, NULL, "recomputed by activation checkpointing");
    ms_json_close(w);
}

static void write_extra(ms_json_writer *w, const ms_view *view, const ms_record *r)
{
    ms_json_object_inline(w, "extra");
    ms_json_uint(w, "count", r->count);
    ms_json_string(w, "layers", r->layer_count ? ms_view_layers(view, r) : NULL);
    ms_json_uint(w, "peak_bytes", r->peak_bytes);
    ms_json_uint(w, "peak_saved_bytes", r->peak_saved_bytes);
    if (r->op != MS_NONE) {
        ms_json_string(w, "pass", ms_pass_words.items[r->pass]);
        if (r->micro_step == MS_NONE)
            ms_json_null(w, "micro_step");
        else
            ms_json_uint(w, "micro_step", r->micro_step);
        ms_json_uint(w, "saved_bytes", r->saved_bytes);
        ms_json_uint(w, "temporary_bytes", r->temporary_bytes);
        ms_json_uint(w, "flops", r->flops);
        ms_json_uint(w, "traffic_bytes", r->traffic_bytes);
        bool is_timed = ms_device_has_rates(view->ledger->run->device);
        ms_json_double(w, "time_us", is_timed ? r->time_us : NAN, 3);
    }
    ms_json_close(w);
}

static void write_record(ms_json_writer *w, const ms_view *view, const ms_record *r)
{
    ms_json_object(w, NULL);
    ms_json_string(w, "name", ms_view_record_name(view, r));
    ms_json_string(w, "category", ms_json_category(r->category));
    ms_json_string(w, "phase", ms_phase_name((ms_phase)r->phase));
    write_operands(w, view, r, SIDE_INPUTS);
    write_operands(w, view, r, SIDE_OUTPUTS);
    ms_json_uint(w, "memory_bytes", r->memory_bytes);
    ms_json_bool(w, "persistent", r->persistent);
    ms_json_string(w, "formula", ms_view_formula(view, r));
    write_notes(w, view, r);
    write_extra(w, view, r);
    ms_json_close(w);
}

void ms_json_operators(ms_json_writer *w, const char *name, const void *of)
{
    const ms_view *view = of;
    ms_json_array(w, name);
    for (uint32_t i = 0; i < view->ledger->records.count; i++)
        write_record(w, view, &view->ledger->records.items[i]);
    ms_json_close(w);
}
