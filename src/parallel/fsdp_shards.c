/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shards: torch.chunk of the first dimension. Every rank's shard has the rows of the first one;
 * where there are fewer, the first forward copies them to a padded tensor.
 */
#include "parallel/fsdp.h"

#include "trace/build.h"

/* Rows of a shard, and those that this rank has. */
typedef struct rows {
    uint64_t padded, local, elements; /* elements: of a row */
} rows;

static rows rows_of(const ms_fsdp *all, const ms_shape *shape)
{
    uint64_t ranks = all->parallel->layout.shards,
             rank = all->parallel->rank / all->parallel->layout.tensor % ranks;
    uint64_t count = shape->rank ? shape->dims[0].value : 1;
    rows r = {.padded = count / ranks + (count % ranks != 0)};
    uint64_t before = rank * r.padded;
    r.local = before >= count ? 0 : count - before < r.padded ? count - before : r.padded;
    r.elements = count ? ms_elements(shape) / count : 0;
    return r;
}

static ms_shape with_rows(ms_tape *tape, const ms_shape *shape, uint64_t count)
{
    ms_shape result = *shape;
    if (result.rank)
        result.dims[0] = ms_dim_number(&tape->trace->symbols, count);
    return result;
}

static ms_tensor new_shard(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_parameter *row,
                           uint64_t count)
{
    const ms_shape shape = ms_info(tape, row->full)->shape;
    tape->is_meta = all->parallel->offloads;
    ms_tensor shard = ms_empty(tape, with_rows(tape, &shape, count), all->parallel->shard_dtype);
    if (shard && tape->is_meta)
        ms_storage_empty(tape, shard); /* the host has it */
    tape->is_meta = false;
    if (!shard)
        return 0;
    uint32_t storage = ms_info(tape, shard)->storage;
    ms_trace_categorize(tape->trace, storage, MS_CATEGORY_WEIGHT);
    ms_trace_label(tape->trace, storage, row->name, row->scope);
    ms_retain(tape, shard);
    return shard;
}

/* ---- all parameters in the order of modules, frozen ones too ---- */

static uint32_t count_of(const ms_tape *tape)
{
    return tape->in_order.count ? tape->in_order.count : tape->parameters.count;
}

static ms_placed placed(const ms_tape *tape, uint32_t i)
{
    if (tape->in_order.count)
        return tape->in_order.items[i];
    const ms_parameter *parameter = &tape->parameters.items[i];
    return (ms_placed){.tensor = parameter->tensor,
                       .name = parameter->name,
                       .scope = parameter->scope,
                       .parameter = i,
                       .is_embedding = parameter->is_embedding};
}

/* Whether its gradient is a DTensor that is placed otherwise; the optimizer sees what was reduced.
 */
static bool takes_placement(ms_tape *tape, uint32_t parameter)
{
    if (parameter == MS_NONE)
        return false;
    bool redistributes = tape->parameters.items[parameter].redistributes;
    tape->parameters.items[parameter].redistributes = false;
    return redistributes;
}

static void add_parameter(ms_tape *tape, ms_fsdp *all, uint32_t place)
{
    const ms_placed p = placed(tape, place);
    const rows r = rows_of(all, &ms_info(tape, p.tensor)->shape);
    const ms_fsdp_parameter row = {.index = p.parameter,
                                   .name = p.name,
                                   .scope = p.scope,
                                   .full = p.tensor,
                                   .padded = r.padded * r.elements,
                                   .local = r.local * r.elements,
                                   .redistributes = takes_placement(tape, p.parameter)};
    all->by_place.items[place] = all->parameters.count;
    if (!ms_vec_push(&all->parameters, row))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

/* What a unit is made of: a layer, or parameters of none. */
typedef enum part_kind { PART_LAYER, PART_EMBEDDINGS, PART_HEAD, PART_ROOT } part_kind;

static bool belongs(ms_tape *tape, const ms_fsdp *all, uint32_t index, part_kind kind,
                    uint32_t layer)
{
    const ms_placed p = placed(tape, index);
    if (ms_scope_layer(tape, p.scope) != layer)
        return false;
    if (layer == MS_NONE && !all->stage.is_first && !all->stage.is_last)
        return false; /* the ends are of other stages */
    if (kind == PART_EMBEDDINGS || kind == PART_HEAD)
        return p.is_embedding == (kind == PART_EMBEDDINGS);
    return kind == PART_LAYER || !all->parallel->has_end_units;
}

/* The parameters of a layer are neighbours; those of the root are not. */
static void add_unit(ms_tape *tape, ms_fsdp *all, part_kind kind, uint32_t layer, uint32_t *next)
{
    ms_fsdp_unit unit = {.first = all->parameters.count,
                         .scope = layer == MS_NONE ? MS_NONE : ms_layer_scope(tape, layer),
                         .reducing = MS_NONE};
    bool is_elsewhere = layer != MS_NONE && (layer < all->stage.first || layer >= all->stage.end);
    uint32_t count = is_elsewhere ? 0 : count_of(tape);
    for (uint32_t i = layer == MS_NONE ? 0 : *next; i < count && tape->status == MS_OK; i++) {
        bool is_here = belongs(tape, all, i, kind, layer);
        if (is_here)
            add_parameter(tape, all, i);
        if (is_here && layer != MS_NONE)
            *next = i + 1;
        if (!is_here && layer != MS_NONE && all->parameters.count > unit.first)
            break;
    }
    unit.count = all->parameters.count - unit.first;
    if (!ms_vec_push(&all->units, unit))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

static void add_units(ms_tape *tape, ms_fsdp *all)
{
    uint32_t next = 0, count = count_of(tape);
    while (all->by_place.count < count && tape->status == MS_OK)
        if (!ms_vec_push(&all->by_place, MS_NONE))
            ms_tape_fail(tape, MS_ERR_NOMEM);
    bool has_ends = all->parallel->has_end_units;
    if (has_ends)
        add_unit(tape, all, PART_EMBEDDINGS, MS_NONE, NULL);
    for (uint32_t layer = 0; layer < tape->layer_scopes.count && tape->status == MS_OK; layer++)
        add_unit(tape, all, PART_LAYER, layer, &next);
    if (has_ends)
        add_unit(tape, all, PART_HEAD, MS_NONE, NULL);
    add_unit(tape, all, PART_ROOT, MS_NONE, NULL);
}

/* ---- from the meta device ---- */

/* to_empty() of parameters in their order, then of buffers. */
static void materialise(ms_tape *tape, const ms_fsdp *all)
{
    for (uint32_t i = 0; i < all->by_place.count && tape->status == MS_OK; i++) {
        if (all->by_place.items[i] == MS_NONE)
            continue; /* another stage's */
        ms_fsdp_parameter *row = &all->parameters.items[all->by_place.items[i]];
        const ms_shape shape = ms_info(tape, row->full)->shape;
        row->shard = new_shard(tape, all, row, rows_of(all, &shape).local);
    }
}

/* The first stage makes the buffers, which the others share. */
static void shard_meta_model(ms_tape *tape, ms_fsdp *stages, uint64_t stage_count)
{
    for (uint32_t i = 0; i < count_of(tape); i++)
        ms_storage_empty(tape, placed(tape, i).tensor);
    for (uint32_t i = 0; i < tape->module_buffers.count; i++)
        ms_storage_empty(tape, tape->module_buffers.items[i]);
    tape->is_meta = false;
    for (uint64_t k = 0; k < stage_count; k++) {
        add_units(tape, &stages[k]);
        materialise(tape, &stages[k]);
        for (uint32_t i = 0; !k && i < tape->module_buffers.count && tape->status == MS_OK; i++)
            ms_storage_refill(tape, tape->module_buffers.items[i]);
    }
}

/* ---- from the device ---- */

static ms_tensor padded_shard(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_parameter *row)
{
    const ms_shape shape = ms_info(tape, row->full)->shape;
    const rows r = rows_of(all, &shape);
    ms_tensor padded = new_shard(tape, all, row, r.padded);
    if (!padded || r.local == r.padded)
        return padded;
    ms_tensor view =
        ms_alias(tape, padded, with_rows(tape, &shape, r.local), ms_info(tape, padded)->strides);
    ms_retain(tape, view);
    ms_release(tape, padded);
    return view;
}

/* fully_shard() of one unit: the whole parameters go when it returns. */
static void shard_unit(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_unit *unit)
{
    for (uint32_t i = 0; i < unit->count && tape->status == MS_OK; i++) {
        ms_fsdp_parameter *row = &all->parameters.items[unit->first + i];
        row->shard = padded_shard(tape, all, row);
    }
    for (uint32_t i = 0; i < unit->count && tape->status == MS_OK; i++)
        ms_parallel_leave_device(tape, all->parameters.items[unit->first + i].full);
}

static void shard_device_model(ms_tape *tape, ms_fsdp *all)
{
    add_units(tape, all);
    for (uint32_t i = 0; i < all->units.count && tape->status == MS_OK; i++)
        shard_unit(tape, all, &all->units.items[i]);
    all->is_initialized = true; /* all shards are padded */
}

/* The optimizer sees the shards from now on. */
static void finish_units(ms_tape *tape, const ms_fsdp *all)
{
    for (uint32_t i = 0; i < all->parameters.count && tape->status == MS_OK; i++) {
        const ms_fsdp_parameter *row = &all->parameters.items[i];
        if (row->index != MS_NONE)
            tape->parameters.items[row->index].tensor = row->shard;
        /* gathered with the padding of all ranks */
        ms_trace_resize(tape->trace, ms_info(tape, row->full)->storage,
                        row->padded * all->parallel->layout.shards *
                            ms_dtype_bytes(all->parallel->param_dtype));
    }
}

void ms_fsdp_make_units(ms_tape *tape, ms_fsdp *stages, uint64_t count)
{
    if (stages->parallel->builds_on_device)
        shard_device_model(tape, stages); /* no pipeline */
    else
        shard_meta_model(tape, stages, count);
    for (uint64_t i = 0; i < count; i++)
        finish_units(tape, &stages[i]);
}

/* ---- the first forward ---- */

static void pad(ms_tape *tape, const ms_fsdp *all, ms_fsdp_parameter *row)
{
    const ms_shape local = ms_info(tape, row->shard)->shape;
    const rows r = rows_of(all, &ms_info(tape, row->full)->shape);
    if (r.local == r.padded || tape->status != MS_OK)
        return;
    ms_tensor padded = new_shard(tape, all, row, r.padded);
    uint64_t strides[MS_MAX_RANK];
    for (uint32_t i = 0; i < local.rank; i++)
        strides[i] = ms_info(tape, padded)->strides[i];
    ms_tensor view = ms_alias(tape, padded, local, strides);
    ms_retain(tape, view);
    ms_release(tape, row->shard);
    row->shard = view;
    ms_release(tape, padded);
}

void ms_fsdp_pad_unit(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_unit *unit)
{
    for (uint32_t i = 0; i < unit->count; i++)
        pad(tape, all, &all->parameters.items[unit->first + i]);
}

void ms_fsdp_pad_shards(ms_tape *tape, ms_fsdp *all)
{
    ms_fsdp_pad_unit(tape, all, ms_fsdp_root(all));
    for (uint32_t i = 0; i + 1 < all->units.count; i++)
        ms_fsdp_pad_unit(tape, all, &all->units.items[i]);
}

void ms_fsdp_show_shards(ms_tape *tape, ms_fsdp *all)
{
    for (uint32_t i = 0; i < all->parameters.count; i++) {
        ms_fsdp_parameter *row = &all->parameters.items[i];
        if (row->index == MS_NONE)
            continue;
        ms_parameter *parameter = &tape->parameters.items[row->index];
        parameter->tensor = row->shard;
        parameter->grad = row->grad;
        row->grad = 0;
    }
}

void ms_fsdp_show_parameters(ms_tape *tape, ms_fsdp *all)
{
    for (uint32_t i = 0; i < all->parameters.count; i++) {
        ms_fsdp_parameter *row = &all->parameters.items[i];
        if (row->index != MS_NONE)
            tape->parameters.items[row->index].tensor = row->full;
    }
}
