/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Records of persistent tensors. Each kind is folded separately: layers that are checkpointed
 * differently still have equal weights.
 */
#include "decide/ledger/fold.h"
#include "decide/ledger/owners.h"
#include "decide/ledger/records.h"

typedef struct kind {
    const ms_record_source *source;
    uint8_t category;
    uint8_t phase;
    uint32_t event; /* alive after this event */
} kind;

static bool belongs(const kind *k, uint32_t storage)
{
    return k->source->trace->storages.items[storage].category == k->category &&
           ms_lifetime_covers(k->source->lifetimes[storage], k->event);
}

static uint32_t group_of(const kind *k, const ms_storage *storage)
{
    return ms_trace_scope_layer(k->source->trace, storage->scope, k->source->layer_count);
}

static void hash_storages(const kind *k, ms_fold *fold)
{
    const ms_trace *trace = k->source->trace;
    for (uint32_t i = 0; i < trace->storages.count; i++) {
        if (!belongs(k, i))
            continue;
        const ms_storage *s = &trace->storages.items[i];
        uint32_t group = group_of(k, s);
        uint64_t scope = s->scope == MS_NONE ? 0 : k->source->scope_hashes[s->scope];
        ms_fold_add(fold, group, scope);
        ms_fold_add(fold, group, (uint64_t)(uintptr_t)trace->names.items[s->name]);
        ms_fold_add(fold, group, s->bytes);
        ms_fold_add(fold, group, s->dtype);
    }
}

static bool add_record(const kind *k, ms_fold *fold, uint32_t storage, ms_owners *owners,
                       ms_ledger *ledger)
{
    const ms_storage *s = &k->source->trace->storages.items[storage];
    uint32_t group = group_of(k, s);
    ms_fold_group *class = &fold->classes[group];
    if (class->representative != group)
        return true;
    if (!ms_fold_list_layers(fold, group, &ledger->layers))
        return false;
    ms_record record = {.op = MS_NONE,
                        .scope = s->scope,
                        .name = s->name,
                        .first_part = ledger->parts.count,
                        .part_count = 1,
                        .count = class->count,
                        .first_layers = class->first_layers,
                        .layer_count = class->layer_count,
                        .micro_step = MS_NONE,
                        .category = k->category,
                        .phase = k->phase,
                        .persistent = true,
                        .memory_bytes = s->bytes};
    ms_owners_put(owners, group, ledger->records.count);
    return ms_vec_push(&ledger->parts, storage) && ms_vec_push(&ledger->records, record);
}

static bool count_storages(const kind *k, const ms_fold *fold, ms_owners *owners)
{
    const ms_trace *trace = k->source->trace;
    bool ok = ms_owners_init(owners, fold->group_count);
    for (uint32_t i = 0; ok && i < trace->storages.count; i++)
        if (belongs(k, i))
            ms_owners_count(owners, group_of(k, &trace->storages.items[i]));
    return ok && ms_owners_close(owners);
}

static void own_storages(const kind *k, const ms_fold *fold, ms_owners *owners)
{
    const ms_trace *trace = k->source->trace;
    ms_owners_rewind(owners);
    for (uint32_t i = 0; i < trace->storages.count; i++) {
        if (!belongs(k, i))
            continue;
        uint32_t group = group_of(k, &trace->storages.items[i]);
        k->source->owners[i] = ms_owners_take(owners, group, fold->classes[group].representative);
    }
}

static bool add_kind(const kind *k, ms_ledger *ledger)
{
    ms_fold fold;
    ms_owners owners = {0};
    if (!ms_fold_init(&fold, k->source->layer_count, 1))
        return false;
    hash_storages(k, &fold);
    bool ok = ms_fold_close(&fold, ledger->mode) && count_storages(k, &fold, &owners);
    for (uint32_t i = 0; ok && i < k->source->trace->storages.count; i++)
        if (belongs(k, i))
            ok = add_record(k, &fold, i, &owners, ledger);
    if (ok)
        own_storages(k, &fold, &owners);
    ms_owners_free(&owners);
    ms_fold_free(&fold);
    return ok;
}

/* Last event of the last backward pass of the steady step: every gradient is there. */
static uint32_t gradients_event(const ms_record_source *source)
{
    const ms_trace *trace = source->trace;
    uint32_t found = source->usage->steady_first_event;
    for (uint32_t e = found; e < source->usage->steady_end_event; e++) {
        const ms_event *event = &trace->events.items[e];
        if (event->kind == MS_EVENT_MARK && !trace->marks.items[event->id].begin &&
            trace->marks.items[event->id].phase == MS_PHASE_BACKWARD)
            found = e;
    }
    return found;
}

ms_status ms_records_add_persistent(const ms_record_source *source, ms_ledger *ledger,
                                    ms_error *err)
{
    uint32_t start = source->usage->steady_first_event;
    uint32_t gradients = gradients_event(source);
    const kind kinds[] = {
        {source, MS_CATEGORY_WEIGHT, MS_PHASE_BUILD, start},
        {source, MS_CATEGORY_BUFFER, MS_PHASE_BUILD, start},
        {source, MS_CATEGORY_GRADIENT, MS_PHASE_BACKWARD, gradients},
        {source, MS_CATEGORY_OPTIMIZER_STATE, MS_PHASE_OPTIMIZER, start},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (!add_kind(&kinds[i], ledger))
            return ms_fail(err, MS_ERR_NOMEM, "no memory for the tensor records");
    return MS_OK;
}
