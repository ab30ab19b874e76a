/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Units: which parameters fully_shard takes together, and the rows of each that a rank has.
 */
#include "torch/parallel/fsdp_units.h"

ms_fsdp_rows ms_fsdp_rows_of(const ms_fsdp *all, const ms_shape *shape)
{
    uint64_t ranks = all->parallel->layout.shards,
             rank = all->parallel->rank / all->parallel->layout.tensor % ranks;
    uint64_t count = shape->rank ? shape->dims[0].value : 1;
    ms_fsdp_rows r = {.padded = count / ranks + (count % ranks != 0)};
    uint64_t before = rank * r.padded;
    r.local = before >= count ? 0 : count - before < r.padded ? count - before : r.padded;
    r.elements = count ? ms_elements(shape) / count : 0;
    return r;
}

/* ---- all parameters in the order of modules, frozen ones too ---- */

uint32_t ms_fsdp_count(const ms_tape *tape)
{
    return tape->in_order.count ? tape->in_order.count : tape->parameters.count;
}

ms_placed ms_fsdp_placed(const ms_tape *tape, uint32_t i)
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

/* Whether a weight is packed, which leaves no floating-point number of its own. */
static bool fsdp_is_packed(ms_tape *tape, ms_tensor weight)
{
    return !ms_dtype_info_of((ms_dtype)ms_info(tape, weight)->dtype)->floating;
}

/* The shape of what is divided; Params4bit is [numbers, 1]. */
static ms_shape shape_of(ms_tape *tape, const ms_parallel *parallel, ms_tensor tensor)
{
    const ms_tensor_info *info = ms_info(tape, tensor);
    if (!fsdp_is_packed(tape, tensor))
        return info->shape;
    ms_symbols *symbols = &tape->trace->symbols;
    uint64_t bytes = tape->trace->storages.items[info->storage].bytes;
    uint64_t numbers = bytes / ms_dtype_bytes(parallel->packed_dtype);
    return MS_SHAPE(ms_dim_number(symbols, numbers), ms_dim_number(symbols, 1));
}

static ms_dtype dtype_of(ms_tape *tape, const ms_parallel *parallel, const ms_placed *p)
{
    if (parallel->keeps_types)
        return fsdp_is_packed(tape, p->tensor) ? parallel->packed_dtype
                                               : (ms_dtype)ms_info(tape, p->tensor)->dtype;
    return p->parameter == MS_NONE ? parallel->shard_dtype : parallel->trained_dtype;
}

static void add_parameter(ms_tape *tape, ms_fsdp *all, uint32_t place)
{
    const ms_parallel *parallel = all->parallel;
    const ms_placed p = ms_fsdp_placed(tape, place);
    if (fsdp_is_packed(tape, p.tensor) && !parallel->shares_packed)
        return; /* ignored_params: it stays whole */
    const ms_shape shape = shape_of(tape, parallel, p.tensor);
    const ms_fsdp_rows r = ms_fsdp_rows_of(all, &shape);
    const ms_fsdp_parameter row = {.index = p.parameter,
                                   .name = p.name,
                                   .scope = p.scope,
                                   .dtype = dtype_of(tape, parallel, &p),
                                   .shape = shape,
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
    const ms_placed p = ms_fsdp_placed(tape, index);
    if (ms_scope_layer(tape, p.scope) != layer)
        return false;
    if (layer == MS_NONE && !all->stage.is_first && !all->stage.is_last)
        return false; /* the ends are of other stages */
    if (kind == PART_EMBEDDINGS || kind == PART_HEAD)
        return p.is_embedding == (kind == PART_EMBEDDINGS);
    return kind == PART_LAYER || !all->parallel->has_end_units;
}

/* The parameters of a layer are neighbours; those of the root are not. */
static void add_parameters(ms_tape *tape, ms_fsdp *all, part_kind kind, uint32_t layer,
                           uint32_t *next)
{
    bool is_elsewhere = layer != MS_NONE && (layer < all->stage.first || layer >= all->stage.end);
    uint32_t count = is_elsewhere ? 0 : ms_fsdp_count(tape), first = all->parameters.count;
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

void ms_fsdp_add_units(ms_tape *tape, ms_fsdp *all)
{
    uint32_t next = 0, count = ms_fsdp_count(tape);
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
