/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/step/json_peak.h"

#include <stdlib.h>

#include "decide/ledger/fold.h"
#include "report/step/json_operators.h"
#include "report/kit/category_id.h"

static void write_categories(ms_json_writer *w, const ms_view *view)
{
    const ms_ledger *ledger = view->ledger;
    const ms_peak *peak = ledger->peak;
    const ms_trace *trace = &ledger->simulation->trace;
    uint64_t rounded[MS_CATEGORY_COUNT] = {0};
    for (uint32_t i = 0; i < peak->storages.count; i++) {
        uint32_t storage = peak->storages.items[i];
        rounded[trace->storages.items[storage].category] +=
            ms_usage_rounded_bytes(trace, ledger->usage, storage);
    }
    ms_json_array(w, "categories");
    for (uint32_t i = 0; i < MS_CATEGORY_COUNT; i++) {
        if (peak->category_count[i] == 0)
            continue;
        ms_json_object_inline(w, NULL);
        ms_json_string(w, "category", ms_json_category((uint8_t)i));
        ms_json_uint(w, "count", peak->category_count[i]);
        ms_json_uint(w, "bytes", peak->category_bytes[i]);
        ms_json_uint(w, "rounded_bytes", rounded[i]);
        ms_json_close(w);
    }
    ms_json_close(w);
}

static void write_layers(ms_json_writer *w, const ms_peak *peak)
{
    ms_json_array(w, "layers");
    for (uint32_t i = 0; i < peak->layers.count; i++) {
        const ms_peak_layers *l = &peak->layers.items[i];
        ms_json_object_inline(w, NULL);
        if (l->first == MS_NONE)
            ms_json_null(w, "first_layer");
        else
            ms_json_uint(w, "first_layer", l->first);
        ms_json_uint(w, "count", l->count);
        ms_json_uint(w, "bytes", l->bytes);
        ms_json_close(w);
    }
    ms_json_close(w);
}

static void write_tensors(ms_json_writer *w, const ms_view *view)
{
    const ms_peak *peak = view->ledger->peak;
    const ms_trace *trace = &view->ledger->simulation->trace;
    ms_json_array(w, "tensors");
    for (uint32_t i = 0; i < peak->tensors.count; i++) {
        const ms_peak_tensor *t = &peak->tensors.items[i];
        const ms_storage *storage = &trace->storages.items[t->storage];
        ms_json_object_inline(w, NULL);
        ms_json_string(w, "name", view->tensors[i].label);
        ms_json_string(w, "category", ms_json_category(storage->category));
        ms_json_storage_shape(w, trace, storage);
        ms_json_string(w, "dtype", ms_dtype_info_of((ms_dtype)storage->dtype)->name);
        ms_json_uint(w, "count", t->count);
        ms_json_uint(w, "bytes", t->bytes);
        ms_json_close(w);
    }
    ms_json_close(w);
    ms_json_object_inline(w, "other_tensors");
    ms_json_uint(w, "count", peak->other_count);
    ms_json_uint(w, "bytes", peak->other_bytes);
    ms_json_close(w);
}

void ms_json_peak(ms_json_writer *w, const ms_view *view)
{
    const ms_ledger *ledger = view->ledger;
    ms_json_object(w, "peak");
    ms_json_uint(w, "bytes", ledger->peak->bytes);
    ms_json_string(w, "phase", ms_phase_name((ms_phase)ledger->peak->phase));
    ms_json_uint(w, "micro_step", ledger->peak->micro_step);
    ms_json_string(w, "operator", *view->peak_operator ? view->peak_operator : NULL);
    ms_json_uint(w, "event", ledger->peak->event - ledger->usage->steady_first_event);
    write_categories(w, view);
    write_layers(w, ledger->peak);
    write_tensors(w, view);
    ms_json_close(w);
}

/* ---- modules ---- */

/* What a module holds; of modules that differ in their layer alone, all of them. */
typedef struct module {
    uint64_t hash, bytes, rounded_bytes;
    uint32_t scope, layer, count;
    bool is_folded;
} module;

static int by_hash(const void *a, const void *b)
{
    const module *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->scope > y->scope) - (x->scope < y->scope);
}

static int by_bytes(const void *a, const void *b)
{
    const module *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return (x->scope > y->scope) - (x->scope < y->scope);
}

static uint32_t fold(module *modules, uint32_t count)
{
    uint32_t last = 0;
    qsort(modules, count, sizeof *modules, by_hash);
    for (uint32_t i = 1; i < count; i++) {
        if (modules[i].hash != modules[last].hash) {
            modules[++last] = modules[i];
            continue;
        }
        modules[last].bytes += modules[i].bytes;
        modules[last].rounded_bytes += modules[i].rounded_bytes;
        modules[last].count += modules[i].count;
        modules[last].is_folded |= modules[i].layer != modules[last].layer;
    }
    qsort(modules, count ? last + 1 : 0, sizeof *modules, by_bytes);
    return count ? last + 1 : 0;
}

static uint32_t list_modules(const ms_ledger *ledger, const uint64_t *hashes, module *modules)
{
    const ms_trace *trace = &ledger->simulation->trace;
    for (uint32_t i = 0; i < ledger->peak->storages.count; i++) {
        uint32_t storage = ledger->peak->storages.items[i];
        uint32_t scope = trace->storages.items[storage].scope;
        bool inside = scope != MS_NONE;
        modules[i] =
            (module){.hash = inside ? hashes[scope] : 0,
                     .bytes = ledger->usage->block_bytes[storage],
                     .rounded_bytes = ms_usage_rounded_bytes(trace, ledger->usage, storage),
                     .scope = scope,
                     .layer = ms_trace_scope_layer(trace, scope, MS_NONE),
                     .count = 1};
    }
    return fold(modules, ledger->peak->storages.count);
}

static bool write_module(ms_json_writer *w, const ms_view *view, const module *m)
{
    uint32_t length = ms_ledger_module_name(view->ledger, m->scope, m->is_folded, NULL, 0);
    char *name = ms_arena_array(view->arena, char, (size_t)length + 1);
    if (!name)
        return false;
    ms_ledger_module_name(view->ledger, m->scope, m->is_folded, name, length + 1);
    ms_json_object_inline(w, NULL);
    ms_json_string(w, "module", name);
    ms_json_uint(w, "count", m->count);
    ms_json_uint(w, "peak_bytes", m->bytes);
    ms_json_uint(w, "peak_rounded_bytes", m->rounded_bytes);
    ms_json_close(w);
    return true;
}

bool ms_json_modules(ms_json_writer *w, const ms_view *view)
{
    const ms_ledger *ledger = view->ledger;
    uint64_t *hashes = ms_scope_hashes_create(&ledger->simulation->trace);
    module *modules = ms_arena_array(view->arena, module, ledger->peak->storages.count);
    bool ok = hashes && modules;
    uint32_t count = ok ? list_modules(ledger, hashes, modules) : 0;
    free(hashes);
    ms_json_array(w, "modules");
    for (uint32_t i = 0; ok && i < count; i++)
        ok = write_module(w, view, &modules[i]);
    ms_json_close(w);
    return ok;
}
