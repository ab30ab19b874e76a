/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/step/json_peak.h"

#include <stdlib.h>

#include "decide/ledger/fold.h"
#include "report/step/json_operators.h"
#include "core/trace/words.h"
#include "report/kit/category_id.h"

/* ---- the peak ---- */

typedef struct category {
    uint64_t category, count, bytes, rounded_bytes;
} category;
static const ms_member category_members[] = {
    MS_MEMBER(category, "category", category, .words = &ms_category_words),
    MS_MEMBER(category, "count", count),
    MS_MEMBER(category, "bytes", bytes),
    MS_MEMBER(category, "rounded_bytes", rounded_bytes),
};
static const ms_members category_table = MS_MEMBERS(category, category_members, .is_inline = true);

static const ms_member layer_members[] = {
    MS_MEMBER(ms_peak_layers, "first_layer", first, .rules = MS_OR_NULL | MS_NONE_IS_MAX),
    MS_MEMBER(ms_peak_layers, "count", count),
    MS_MEMBER(ms_peak_layers, "bytes", bytes),
};
static const ms_members layer_table = MS_MEMBERS(ms_peak_layers, layer_members, .is_inline = true);

static const ms_member other_members[] = {
    MS_MEMBER(ms_peak, "count", other_count),
    MS_MEMBER(ms_peak, "bytes", other_bytes),
};
static const ms_members other_table = MS_MEMBERS(ms_peak, other_members, .is_inline = true);

typedef struct peak {
    const ms_view *view;
    const ms_peak *peak;
    uint64_t event;
    category categories[MS_CATEGORY_COUNT];
    uint32_t category_count;
} peak;

static void write_tensors(ms_json_writer *w, const char *name, const void *of)
{
    const ms_view *view = ((const peak *)of)->view;
    const ms_peak *p = view->ledger->peak;
    const ms_trace *trace = &view->ledger->simulation->trace;
    ms_json_array(w, name);
    for (uint32_t i = 0; i < p->tensors.count; i++) {
        const ms_peak_tensor *t = &p->tensors.items[i];
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
}

#define PEAK(...) MS_MEMBER(ms_peak, __VA_ARGS__, OF_PEAK)
#define OF_PEAK .from = MS_FROM(peak, peak)
static const ms_member peak_members[] = {
    PEAK("bytes", bytes),
    PEAK("phase", phase, .words = &ms_phase_words, .most = MS_PHASE_ZERO_GRAD),
    PEAK("micro_step", micro_step),
    MS_MEMBER(ms_view, "operator", peak_operator, .rules = MS_OR_NULL | MS_NONE_IS_EMPTY,
              .from = MS_FROM(peak, view)),
    MS_MEMBER(peak, "event", event),
    MS_ROWS(peak, "categories", categories, category_count, &category_table, .rules = MS_INSIDE),
    MS_ROWS(ms_peak, "layers", layers.items, layers.count, &layer_table, OF_PEAK),
    MS_WRITTEN("tensors", write_tensors),
    MS_PART("other_tensors", &other_table, OF_PEAK),
};
const ms_members ms_peak_table = MS_MEMBERS(peak, peak_members);

void ms_peak_make(const void *of, void *made)
{
    const ms_ledger *ledger = ((const ms_view *)of)->ledger;
    const ms_peak *p = ledger->peak;
    const ms_trace *trace = &ledger->simulation->trace;
    peak *at = made;
    uint64_t rounded[MS_CATEGORY_COUNT] = {0};
    *at = (peak){.view = of, .peak = p, .event = p->event - ledger->usage->steady_first_event};
    for (uint32_t i = 0; i < p->storages.count; i++) {
        uint32_t storage = p->storages.items[i];
        rounded[trace->storages.items[storage].category] +=
            ms_usage_rounded_bytes(trace, ledger->usage, storage);
    }
    for (uint32_t i = 0; i < MS_CATEGORY_COUNT; i++)
        if (p->category_count[i] > 0)
            at->categories[at->category_count++] =
                (category){i, p->category_count[i], p->category_bytes[i], rounded[i]};
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

#define MODULE(...) MS_MEMBER(ms_module_row, __VA_ARGS__)
static const ms_member module_members[] = {
    MODULE("module", name),
    MODULE("count", count),
    MODULE("peak_bytes", bytes),
    MODULE("peak_rounded_bytes", rounded_bytes),
};
const ms_members ms_module_table = MS_MEMBERS(ms_module_row, module_members, .is_inline = true);

static const char *name_of(const ms_view *view, const module *m)
{
    uint32_t length = ms_ledger_module_name(view->ledger, m->scope, m->is_folded, NULL, 0);
    char *name = ms_arena_array(view->arena, char, (size_t)length + 1);
    if (name)
        ms_ledger_module_name(view->ledger, m->scope, m->is_folded, name, length + 1);
    return name;
}

bool ms_module_rows_make(const ms_view *view, ms_module_rows *list)
{
    const ms_ledger *ledger = view->ledger;
    const uint32_t most = ledger->peak->storages.count;
    uint64_t *hashes = ms_scope_hashes_create(&ledger->simulation->trace);
    module *modules = ms_arena_array(view->arena, module, most);
    ms_module_row *rows = ms_arena_array(view->arena, ms_module_row, most);
    bool ok = hashes && modules && rows;
    list->items = rows;
    list->count = ok ? list_modules(ledger, hashes, modules) : 0;
    free(hashes);
    for (uint32_t i = 0; i < list->count; i++) {
        const module *m = &modules[i];
        rows[i] = (ms_module_row){name_of(view, m), m->count, m->bytes, m->rounded_bytes};
        ok = ok && rows[i].name;
    }
    return ok;
}
