/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/view/view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "input/config/resolve/resolve_images.h"
#include "decide/ledger/scope_findings.h"
#include "report/view/verdict.h"
#include "report/view/why.h"

const char *ms_micro_step_text(const ms_phase_usage *phase, char text[MS_MICRO_STEP_TEXT])
{
    uint64_t first = (uint64_t)phase->micro_step + 1, last = first + phase->repeats - 1;
    int length = snprintf(text, MS_MICRO_STEP_TEXT, "%" PRIu64, first);
    if (last > first)
        snprintf(text + length, MS_MICRO_STEP_TEXT - (size_t)length, "-%" PRIu64, last);
    return text;
}

/* Text of the printer's full length, in the arena; "" when out of memory. */
typedef uint32_t (*printer)(const ms_ledger *ledger, const ms_record *record, char *out,
                            uint32_t size);

static const char *print_record(const ms_view *view, const ms_record *record, printer print)
{
    uint32_t length = print(view->ledger, record, NULL, 0);
    char *text = ms_arena_array(view->arena, char, (size_t)length + 1);
    if (!text)
        return "";
    print(view->ledger, record, text, length + 1);
    return text;
}

static uint32_t print_layers(const ms_ledger *ledger, const ms_record *record, char *out,
                             uint32_t size)
{
    const uint32_t *layers = ledger->layers.items + record->first_layers;
    return record->layer_count ? ms_layers_print(layers, record->layer_count, out, size) : 0;
}

const char *ms_view_record_name(const ms_view *view, const ms_record *record)
{
    return print_record(view, record, ms_ledger_name);
}

const char *ms_view_formula(const ms_view *view, const ms_record *record)
{
    return print_record(view, record, ms_ledger_formula);
}

const char *ms_view_layers(const ms_view *view, const ms_record *record)
{
    return print_record(view, record, print_layers);
}

static int by_bytes(const void *a, const void *b)
{
    const ms_view_row *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return strcmp(x->label, y->label);
}

static const char *times(ms_arena *arena, uint32_t count, const char *what)
{
    return ms_arena_printf(arena, "%" PRIu32 " %s%s", count, what, count == 1 ? "" : "s");
}

static bool fill_categories(ms_view *view)
{
    const ms_peak *peak = view->ledger->peak;
    view->categories = ms_arena_array(view->arena, ms_view_row, MS_CATEGORY_COUNT);
    if (!view->categories)
        return false;
    for (uint32_t i = 0; i < MS_CATEGORY_COUNT; i++) {
        if (peak->category_count[i] == 0)
            continue;
        ms_view_row row = {ms_category_name((ms_category)i),
                           times(view->arena, peak->category_count[i], "tensor"),
                           peak->category_bytes[i]};
        if (!row.detail)
            return false;
        view->categories[view->category_count++] = row;
    }
    qsort(view->categories, view->category_count, sizeof *view->categories, by_bytes);
    return true;
}

static const char *storage_name(const ms_view *view, const ms_peak_tensor *tensor)
{
    uint32_t length = ms_ledger_storage_name(view->ledger, tensor->storage, tensor->count, NULL, 0);
    char *text = ms_arena_array(view->arena, char, (size_t)length + 1);
    if (text)
        ms_ledger_storage_name(view->ledger, tensor->storage, tensor->count, text, length + 1);
    return text;
}

static bool fill_tensors(ms_view *view)
{
    const ms_peak *peak = view->ledger->peak;
    view->tensors = ms_arena_array(view->arena, ms_view_row, (size_t)peak->tensors.count + 1);
    if (!view->tensors)
        return false;
    for (uint32_t i = 0; i < peak->tensors.count; i++) {
        const ms_peak_tensor *t = &peak->tensors.items[i];
        ms_view_row row = {storage_name(view, t), times(view->arena, t->count, "tensor"), t->bytes};
        if (!row.label || !row.detail)
            return false;
        view->tensors[view->tensor_count++] = row;
    }
    if (peak->other_count == 0)
        return true;
    ms_view_row rest = {"all others", times(view->arena, peak->other_count, "tensor"),
                        peak->other_bytes};
    view->tensors[view->tensor_count++] = rest;
    return rest.detail != NULL;
}

static bool fill_layers(ms_view *view)
{
    const ms_peak *peak = view->ledger->peak;
    view->layers = ms_arena_array(view->arena, ms_view_row, (size_t)peak->layers.count + 1);
    if (!view->layers)
        return false;
    for (uint32_t i = 0; i < peak->layers.count; i++) {
        const ms_peak_layers *l = &peak->layers.items[i];
        /* ZeRO keeps the parameters of all layers in flat buffers. */
        bool is_flat = view->ledger->run->parallel.layout.kind == MS_PARALLEL_ZERO;
        const char *label = is_flat ? "flat buffers, and outside" : "outside the layers";
        if (l->first != MS_NONE && l->count == 1)
            label = ms_arena_printf(view->arena, "layer %" PRIu32, l->first);
        else if (l->first != MS_NONE)
            label = ms_arena_printf(view->arena, "layers %" PRIu32 "-%" PRIu32, l->first,
                                    l->first + l->count - 1);
        if (!label)
            return false;
        view->layers[view->layer_count++] = (ms_view_row){label, "", l->bytes};
    }
    return true;
}

/* Keeps the largest in order by insertion: the list is a dozen long. */
static bool fill_largest(ms_view *view)
{
    const ms_ledger *ledger = view->ledger;
    view->largest = ms_arena_array(view->arena, const ms_record *, MS_VIEW_LARGEST + 1);
    if (!view->largest)
        return false;
    for (uint32_t i = 0; i < ledger->records.count; i++) {
        const ms_record *r = &ledger->records.items[i];
        if (r->op == MS_NONE || r->peak_bytes == 0)
            continue;
        uint32_t at = view->largest_count;
        for (; at > 0 && view->largest[at - 1]->peak_bytes < r->peak_bytes; at--)
            view->largest[at] = view->largest[at - 1];
        view->largest[at] = r;
        if (view->largest_count < MS_VIEW_LARGEST)
            view->largest_count++;
        view->operator_count++;
        view->operator_bytes += r->peak_bytes;
        view->operator_saved_bytes += r->peak_saved_bytes;
    }
    return true;
}

const char *ms_view_millions(ms_arena *arena, uint64_t count)
{
    uint64_t hundredths = (count + 5000000) / 10000000, tenths = (count + 50000) / 100000;
    if (count >= 1000000000)
        return ms_arena_printf(arena, "%" PRIu64 ".%02" PRIu64 " B", hundredths / 100,
                               hundredths % 100);
    return ms_arena_printf(arena, "%" PRIu64 ".%" PRIu64 " M", tenths / 10, tenths % 10);
}

/* "1.25 B parameters, 11.3 M trained"; "30.53 B (3.35 B active) parameters" */
static const char *parameters(const ms_view *view)
{
    const ms_simulation *simulation = view->ledger->simulation;
    const char *all = ms_view_millions(view->arena, simulation->param_count);
    if (all && simulation->active_param_count < simulation->param_count)
        all = ms_arena_printf(view->arena, "%s (%s active)", all,
                              ms_view_millions(view->arena, simulation->active_param_count));
    const char *trained = ms_view_millions(view->arena, simulation->trainable_param_count);
    if (!all || !trained)
        return NULL;
    if (simulation->trainable_param_count == simulation->param_count)
        return ms_arena_printf(view->arena, "%s parameters", all);
    return ms_arena_printf(view->arena, "%s parameters, %s trained", all, trained);
}

const char *ms_view_model(const ms_view *view)
{
    return ms_model_title(view->ledger->model);
}

const char *ms_view_types(ms_arena *arena, const ms_run_config *run)
{
    const char *name = ms_dtype_info_of(run->dtype)->short_name;
    if (ms_layout_shards(&run->parallel.layout) && run->parallel.shard_dtype != run->dtype)
        name = ms_arena_printf(arena, "%s computed in %s",
                               ms_dtype_info_of(run->parallel.shard_dtype)->short_name, name);
    else if (run->autocast != MS_AUTOCAST_NONE)
        name =
            ms_arena_printf(arena, "%s with %s autocast", name, ms_autocast_names[run->autocast]);
    if (name && run->quantization.kind != MS_QUANTIZE_NONE)
        name =
            ms_arena_printf(arena, "%s, %s", ms_quantization_text(arena, &run->quantization), name);
    return name;
}

static const char *title(const ms_view *view)
{
    const ms_run_config *run = view->ledger->run;
    const ms_field *fields = view->metadata;
    const char *count = parameters(view), *types = ms_view_types(view->arena, run);
    char images[MS_IMAGES_TEXT];
    if (!count || !types)
        return NULL;
    return ms_arena_printf(view->arena,
                           "%s: %s, batch %" PRIu64 " x %" PRIu64 " tokens%s, %s, %s (%s)",
                           ms_view_model(view), count, run->batch, run->seq_tokens,
                           ms_images_words(view->ledger->model, run, images), types,
                           ms_metadata_text(fields, view->metadata_count, "optimizer"),
                           ms_metadata_text(fields, view->metadata_count, "optimizer_impl"));
}

static const char *peak_operator(const ms_view *view)
{
    const ms_peak *peak = view->ledger->peak;
    if (peak->op == MS_NONE)
        return "";
    const ms_trace *trace = &view->ledger->simulation->trace;
    const ms_record record = {
        .op = peak->op, .scope = ms_op_scope(trace, &trace->ops.items[peak->op]), .name = MS_NONE};
    return ms_view_record_name(view, &record);
}

const char ms_view_input_note[] = "input";

static bool fill_findings(ms_view *view)
{
    const ms_notes *notes = &view->ledger->run->notes;
    uint32_t count = view->advice ? view->advice->findings.count : 0;
    view->findings = ms_arena_array(view->arena, ms_finding, (size_t)count + 3 + notes->count);
    if (!view->findings)
        return false;
    if (ms_finding_of_text_only(view->ledger, view->findings))
        view->finding_count = 1;
    if (ms_finding_of_several_gpus(view->ledger, view->arena, &view->findings[view->finding_count]))
        view->finding_count++;
    if (ms_finding_of_unreached(view->ledger, view->arena, &view->findings[view->finding_count]))
        view->finding_count++;
    for (uint32_t i = 0; i < count; i++)
        view->findings[view->finding_count++] = view->advice->findings.items[i];
    for (uint32_t i = 0; i < notes->count; i++)
        view->findings[view->finding_count++] =
            (ms_finding){.name = ms_view_input_note, .text = notes->texts[i]};
    return true;
}

static bool fill(ms_view *view)
{
    ms_field_list metadata;
    const ms_run_seen seen = {view->ledger->model, view->ledger->run,
                              view->ledger->simulation->attention};
    if (!ms_metadata_fill(&seen, view->arena, &metadata))
        return false;
    view->metadata = metadata.items;
    view->metadata_count = metadata.count;
    view->title = title(view);
    view->verdict = ms_view_verdict(view);
    view->peak_operator = peak_operator(view);
    if (!view->title || !view->verdict || !fill_categories(view))
        return false;
    view->peak_why = ms_why_text(view);
    view->why = view->peak_why ? ms_view_why(view) : NULL;
    return view->why && fill_tensors(view) && fill_layers(view) && fill_largest(view) &&
           fill_findings(view);
}

ms_status ms_view_create(const ms_ledger *ledger, const ms_advice *advice, const ms_style *style,
                         ms_view *view, ms_error *err)
{
    *view = (ms_view){.ledger = ledger,
                      .summary = ledger->summary,
                      .advice = advice,
                      .style = *style,
                      .arena = ms_arena_create(0)};
    if (view->arena && fill(view))
        return MS_OK;
    ms_view_free(view);
    return ms_fail(err, MS_ERR_NOMEM, "no memory for the report");
}

void ms_view_free(ms_view *view)
{
    ms_arena_free(view->arena);
    view->arena = NULL;
}
