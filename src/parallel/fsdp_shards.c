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
typedef enum part_kind {
    PART_LAYER,
    PART_EMBEDDINGS,
    PART_HEAD, /* what is in no layer and no embedding */
    PART_ROOT
} part_kind;

static bool belongs(ms_tape *tape, const ms_fsdp *all, uint32_t index, part_kind kind,
                    uint32_t layer)
{
    const ms_placed p = placed(tape, index);
    if (ms_scope_layer(tape, p.scope) != layer)
        return false;
    if (kind == PART_EMBEDDINGS || kind == PART_HEAD)
        return p.is_embedding == (kind == PART_EMBEDDINGS);
    return kind == PART_LAYER || !all->parallel->has_end_units;
}

/* The parameters of a layer are neighbours; those of the root are not. */
static void add_parameters(ms_tape *tape, ms_fsdp *all, part_kind kind, uint32_t layer,
                           uint32_t *next)
{
    uint32_t count = count_of(tape), first = all->parameters.count;
    for (uint32_t i = layer == MS_NONE ? 0 : *next; i < count && tape->status == MS_OK; i++) {
        bool is_here = belongs(tape, all, i, kind, layer);
        if (is_here)
            add_parameter(tape, all, i);
        if (is_here && layer != MS_NONE)
            *next = i + 1;
        if (!is_here && layer != MS_NONE && all->parameters.count > first)
            break;
    }
}

static void add_unit(ms_tape *tape, ms_fsdp *all, part_kind kind, uint32_t layer, uint32_t *next)
{
    ms_fsdp_unit unit = {.first = all->parameters.count,
                         .scope = layer == MS_NONE ? MS_NONE : ms_layer_scope(tape, layer),
                         .reducing = MS_NONE};
    if (kind == PART_ROOT && all->parallel->has_tied_ends) { /* fully_shard([norm, embedding]) */
        add_parameters(tape, all, PART_HEAD, layer, next);
        add_parameters(tape, all, PART_EMBEDDINGS, layer, next);
    } else {
        add_parameters(tape, all, kind, layer, next);
    }
    unit.count = all->parameters.count - unit.first;
    if (!ms_vec_push(&all->units, unit))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

static void add_units(ms_tape *tape, ms_fsdp *all)
{
    uint32_t next = 0, count = count_of(tape);
    while (all->by_place.count < count && tape->status == MS_OK)
        if (!ms_vec_push(&all->by_place, 0u))
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

static void move_buffers(ms_tape *tape)
{
    for (uint32_t i = 0; i < tape->module_buffers.count && tape->status == MS_OK; i++)
        ms_storage_refill(tape, tape->module_buffers.items[i]);
}

/* to_empty() of parameters in their order, then of buffers. */
static void materialise(ms_tape *tape, const ms_fsdp *all)
{
    for (uint32_t i = 0; i < all->by_place.count && tape->status == MS_OK; i++) {
        ms_fsdp_parameter *row = &all->parameters.items[all->by_place.items[i]];
        const ms_shape shape = ms_info(tape, row->full)->shape;
        row->shard = new_shard(tape, all, row, rows_of(all, &shape).local);
    }
    move_buffers(tape);
}

/* The model is not on the device. */
static void add_absent_units(ms_tape *tape, ms_fsdp *all)
{
    for (uint32_t i = 0; i < count_of(tape); i++)
        ms_storage_empty(tape, placed(tape, i).tensor);
    for (uint32_t i = 0; i < tape->module_buffers.count; i++)
        ms_storage_empty(tape, tape->module_buffers.items[i]);
    tape->is_meta = false;
    add_units(tape, all);
}

static void shard_meta_model(ms_tape *tape, ms_fsdp *all)
{
    add_absent_units(tape, all);
    materialise(tape, all);
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

/* ---- from the host ---- */

/* A whole parameter on the device, in the type of the shards. */
static ms_tensor moved(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_parameter *row)
{
    ms_tensor whole = ms_empty(tape, ms_info(tape, row->full)->shape, all->parallel->shard_dtype);
    ms_retain(tape, whole);
    return whole;
}

/* The shard of a whole parameter is made on the device, also if it goes to the host. */
static ms_tensor divided(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_parameter *row)
{
    const ms_shape shape = ms_info(tape, row->full)->shape;
    uint64_t count = rows_of(all, &shape).padded;
    if (all->parallel->offloads)
        ms_consume(tape,
                   ms_empty(tape, with_rows(tape, &shape, count), all->parallel->shard_dtype));
    return padded_shard(tape, all, row);
}

/* accelerate has names for the weights of embedding and head as long as it makes units. */
static bool is_held(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_parameter *row)
{
    return all->parallel->units == MS_UNITS_ACCELERATE &&
           ms_scope_layer(tape, row->scope) == MS_NONE && ms_info(tape, row->full)->shape.rank > 1;
}

/* Parameters, and the root's buffers, are moved, then divided; the whole ones go at the end. */
static void move_unit(ms_tape *tape, ms_fsdp *all, const ms_fsdp_unit *unit)
{
    ms_fsdp_parameter *row = &all->parameters.items[unit->first];
    for (uint32_t i = 0; i < unit->count && tape->status == MS_OK; i++)
        row[i].whole = moved(tape, all, &row[i]);
    if (unit == ms_fsdp_root(all) && !all->parallel->has_tied_ends)
        move_buffers(tape);
    for (uint32_t i = 0; i < unit->count && tape->status == MS_OK; i++)
        row[i].shard = divided(tape, all, &row[i]);
    for (uint32_t i = 0; i < unit->count && tape->status == MS_OK; i++) {
        if (is_held(tape, all, &row[i]))
            continue;
        ms_release(tape, row[i].whole);
        row[i].whole = 0;
    }
}

/* Layers first; then accelerate's embedding and head, of which the root is left nothing. */
static void shard_host_model(ms_tape *tape, ms_fsdp *all)
{
    add_absent_units(tape, all);
    uint32_t first = all->parallel->has_end_units;
    for (uint32_t i = first; i < tape->layer_scopes.count + first && tape->status == MS_OK; i++)
        move_unit(tape, all, &all->units.items[i]);
    if (first)
        move_unit(tape, all, &all->units.items[0]);
    for (uint32_t i = (uint32_t)tape->layer_scopes.count + first;
         i < all->units.count && tape->status == MS_OK; i++)
        move_unit(tape, all, &all->units.items[i]);
    if (all->parallel->has_tied_ends)
        move_buffers(tape);
    for (uint32_t i = 0; i < all->parameters.count && tape->status == MS_OK; i++) {
        ms_release(tape, all->parameters.items[i].whole);
        all->parameters.items[i].whole = 0;
    }
    all->is_initialized = true; /* all shards are padded */
}

static void broadcast(ms_tape *tape, ms_fsdp *all, ms_fsdp_parameter *row)
{
    ms_tensor whole = moved(tape, all, row);
    row->shard = divided(tape, all, row);
    ms_release(tape, whole);
}

/* Rank 0 sends one whole tensor after the other, a tied one twice, and each rank keeps its part. */
static void shard_broadcast_model(ms_tape *tape, ms_fsdp *all)
{
    ms_tensor head = 0;
    add_absent_units(tape, all);
    for (uint32_t i = 0; i < all->by_place.count && tape->status == MS_OK; i++)
        broadcast(tape, all, &all->parameters.items[all->by_place.items[i]]);
    if (all->parallel->has_tied_ends && tape->status == MS_OK) {
        ms_fsdp_parameter second = all->parameters.items[all->parameters.count - 1];
        broadcast(tape, all, &second); /* the embedding is the last of the last unit */
        head = second.shard;
    }
    move_buffers(tape);
    ms_release(tape, head);
    all->is_initialized = true;
}

void ms_fsdp_make_units(ms_tape *tape, ms_fsdp *all)
{
    static void (*const makers[])(ms_tape * tape, ms_fsdp * all) = {
        [MS_BUILD_META] = shard_meta_model,
        [MS_BUILD_DEVICE] = shard_device_model,
        [MS_BUILD_HOST] = shard_host_model,
        [MS_BUILD_BROADCAST] = shard_broadcast_model,
    };
    makers[all->parallel->build](tape, all);
    for (uint32_t i = 0; i < all->parameters.count && tape->status == MS_OK; i++) {
        ms_fsdp_parameter *row = &all->parameters.items[i];
        if (row->index != MS_NONE)
            tape->parameters.items[row->index].tensor = row->shard;
        /* gathered with the padding of all ranks */
        ms_trace_resize(tape->trace, ms_info(tape, row->full)->storage,
                        row->padded * all->parallel->layout.shards *
                            ms_dtype_bytes(all->parallel->param_dtype));
    }
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

static void pad_unit(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_unit *unit)
{
    for (uint32_t i = 0; i < unit->count; i++)
        pad(tape, all, &all->parameters.items[unit->first + i]);
}

void ms_fsdp_pad_shards(ms_tape *tape, ms_fsdp *all)
{
    pad_unit(tape, all, ms_fsdp_root(all));
    for (uint32_t i = 0; i + 1 < all->units.count; i++)
        pad_unit(tape, all, &all->units.items[i]);
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
