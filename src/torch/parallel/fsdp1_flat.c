/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Flat parameters: those of a unit one after the other, aligned to 16 bytes of the computation's
 * type and of equal parts for all ranks where original parameters are kept; otherwise the last part
 * is padded.
 */
#include "torch/parallel/fsdp1.h"

#include "core/trace/build.h"

enum { ALIGNMENT_BYTES = 16 };

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static uint64_t up_to_multiple(uint64_t a, uint64_t b)
{
    return divide_up(a, b) * b;
}

/* ---- units ---- */

static void add_parameter(ms_tape *tape, ms_fsdp1 *all, ms_fsdp1_unit *unit, uint32_t index)
{
    const ms_parallel *parallel = all->parallel;
    const ms_parameter *parameter = &tape->parameters.items[index];
    uint64_t first = unit->elements;
    if (!parallel->has_flat_parameters)
        first = up_to_multiple(first, ALIGNMENT_BYTES / ms_dtype_bytes(parallel->param_dtype));
    const ms_fsdp1_parameter row = {.index = index,
                                    .full = parameter->tensor,
                                    .elements =
                                        ms_elements(&ms_info(tape, parameter->tensor)->shape),
                                    .padding = first - unit->elements,
                                    .first = first};
    unit->elements = first + row.elements;
    unit->count++;
    if (!ms_vec_push(&all->parameters, row))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

static uint64_t overlap(uint64_t first, uint64_t count, uint64_t begin, uint64_t end)
{
    uint64_t from = first > begin ? first : begin;
    uint64_t to = first + count < end ? first + count : end;
    return to > from ? to - from : 0;
}

static void divide(const ms_fsdp1 *all, ms_fsdp1_unit *unit)
{
    const ms_parallel *parallel = all->parallel;
    uint64_t ranks = parallel->layout.shards, rank = parallel->rank % ranks;
    if (!parallel->has_flat_parameters) {
        uint64_t whole = up_to_multiple(unit->elements, ranks);
        unit->end_padding = whole - unit->elements;
        unit->elements = whole;
    }
    unit->part = divide_up(unit->elements, ranks);
    for (uint32_t i = 0; i < unit->count; i++) {
        ms_fsdp1_parameter *row = ms_fsdp1_parameter_of(all, unit, i);
        row->in_shard =
            overlap(row->first, row->elements, rank * unit->part, (rank + 1) * unit->part);
    }
}

static void add_unit(ms_tape *tape, ms_fsdp1 *all, uint32_t layer)
{
    ms_fsdp1_unit unit = {.first = all->parameters.count,
                          .scope = layer == MS_NONE ? MS_NONE : ms_layer_scope(tape, layer)};
    for (uint32_t i = 0; i < tape->parameters.count && tape->status == MS_OK; i++)
        if (ms_scope_layer(tape, tape->parameters.items[i].scope) == layer)
            add_parameter(tape, all, &unit, i);
    if (tape->status == MS_OK) /* else a parameter has no row */
        divide(all, &unit);
    if (!ms_vec_push(&all->units, unit))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

/* ---- the gathered flat parameter: still on no device ---- */

/* The parameter becomes a view of it. */
static void make_view(ms_tape *tape, const ms_fsdp1 *all, const ms_fsdp1_unit *unit,
                      ms_fsdp1_parameter *row)
{
    if (all->parallel->build != MS_BUILD_DEVICE)
        ms_storage_empty(tape, row->full);
    const ms_tensor_info full = *ms_info(tape, row->full);
    ms_tensor view = ms_alias(tape, unit->gathered, full.shape, full.strides);
    if (!view)
        return;
    ms_storage_swap(tape, row->full, view);
    ms_info(tape, row->full)->is_view = true;
    tape->parameters.items[row->index].is_view = true;
    if (all->parallel->build != MS_BUILD_DEVICE) {
        ms_consume(tape, view);
        return;
    }
    row->original = view;
    ms_retain(tape, view);
}

static void make_gathered(ms_tape *tape, const ms_fsdp1 *all, ms_fsdp1_unit *unit)
{
    const ms_parallel *parallel = all->parallel;
    unit->gathered = ms_fsdp1_buffer(tape, unit, unit->part * parallel->layout.shards,
                                     parallel->param_dtype, all->gather_stream);
    ms_name_storage(tape, unit->gathered, "flat parameter", MS_CATEGORY_WEIGHT);
    ms_retain(tape, unit->gathered);
    for (uint32_t i = 0; i < unit->count && !ms_idle(tape); i++)
        make_view(tape, all, unit, ms_fsdp1_parameter_of(all, unit, i));
    if (!ms_idle(tape))
        ms_storage_empty(tape, unit->gathered);
}

/* ---- parts ---- */

static uint32_t depth_of(const ms_tape *tape, uint32_t scope)
{
    uint32_t depth = 0;
    for (; scope != MS_NONE; scope = tape->trace->scopes.items[scope].parent)
        depth++;
    return depth;
}

/* Modules are materialised breadth first. */
static void materialise(ms_tape *tape, const ms_fsdp1 *all, const ms_fsdp1_unit *unit)
{
    uint32_t left = unit->count;
    for (uint32_t depth = 0; left > 0 && !ms_idle(tape); depth++) {
        for (uint32_t i = 0; i < unit->count; i++) {
            ms_fsdp1_parameter *row = ms_fsdp1_parameter_of(all, unit, i);
            if (depth_of(tape, tape->parameters.items[row->index].scope) != depth)
                continue;
            row->original = ms_fsdp1_buffer(tape, unit, row->elements, all->parallel->load_dtype,
                                            MS_STREAM_OPERATORS);
            ms_retain(tape, row->original);
            left--;
        }
    }
    for (uint32_t i = 0; i < tape->module_buffers.count && unit->scope == MS_NONE; i++)
        ms_storage_refill(tape, tape->module_buffers.items[i]);
}

/* This rank's part, a clone; the last ones are padded. */
static void cut(ms_tape *tape, const ms_fsdp1 *all, ms_fsdp1_unit *unit)
{
    uint64_t ranks = all->parallel->layout.shards, rank = all->parallel->rank % ranks;
    uint64_t local = overlap(0, unit->elements, rank * unit->part, (rank + 1) * unit->part);
    ms_dtype dtype = all->parallel->load_dtype;
    unit->shard = ms_fsdp1_buffer(tape, unit, local, dtype, MS_STREAM_OPERATORS);
    ms_retain(tape, unit->shard);
    if (local < unit->part) {
        ms_tensor clone = unit->shard;
        unit->shard = ms_fsdp1_buffer(tape, unit, unit->part, dtype, MS_STREAM_OPERATORS);
        ms_retain(tape, unit->shard);
        ms_release(tape, clone);
    }
    ms_name_storage(tape, unit->shard, "flat parameter", MS_CATEGORY_WEIGHT);
}

static ms_tensor elements_of(ms_tape *tape, ms_tensor flat, uint64_t count)
{
    static const uint64_t stride = 1;
    ms_tensor view =
        ms_alias(tape, flat, MS_SHAPE(ms_dim_number(&tape->trace->symbols, count)), &stride);
    ms_retain(tape, view);
    return view;
}

/* What the optimizer sees: views of the part, or the part itself in the place of the first
 * parameter. */
static void make_shards(ms_tape *tape, const ms_fsdp1 *all, const ms_fsdp1_unit *unit)
{
    for (uint32_t i = 0; i < unit->count && !ms_idle(tape); i++) {
        ms_fsdp1_parameter *row = ms_fsdp1_parameter_of(all, unit, i);
        if (all->parallel->has_flat_parameters)
            row->in_shard = i == 0 ? unit->part : 0;
        row->shard = elements_of(tape, unit->shard, row->in_shard);
        tape->parameters.items[row->index].tensor = row->shard;
        tape->parameters.items[row->index].stream = all->gather_stream;
    }
}

static void make_part(ms_tape *tape, const ms_fsdp1 *all, ms_fsdp1_unit *unit)
{
    if (all->parallel->build != MS_BUILD_DEVICE)
        materialise(tape, all, unit);
    ms_tensor flat = unit->count ? ms_fsdp1_buffer(tape, unit, unit->elements,
                                                   all->parallel->load_dtype, MS_STREAM_OPERATORS)
                                 : 0;
    if (unit->count)
        cut(tape, all, unit);
    ms_consume(tape, flat);
    for (uint32_t i = 0; i < unit->count; i++)
        ms_release(tape, ms_fsdp1_parameter_of(all, unit, i)->original);
}

/* accelerate casts parts in half precision. Original parameters are views of what was loaded until
 * the unit's first forward has run. */
static void widen(ms_tape *tape, const ms_fsdp1 *all, ms_fsdp1_unit *unit)
{
    if (!unit->count)
        return;
    ms_tensor loaded = unit->shard;
    unit->shard =
        ms_fsdp1_buffer(tape, unit, unit->part, all->parallel->shard_dtype, MS_STREAM_OPERATORS);
    ms_retain(tape, unit->shard);
    ms_name_storage(tape, unit->shard, "flat parameter", MS_CATEGORY_WEIGHT);
    if (all->parallel->has_flat_parameters)
        ms_release(tape, loaded);
    else
        unit->loaded = loaded;
}

static void widen_parts(ms_tape *tape, ms_fsdp1 *all)
{
    if (all->parallel->load_dtype == all->parallel->shard_dtype)
        return;
    widen(tape, all, ms_fsdp1_root(all));
    for (uint32_t i = 0; i + 1 < all->units.count && tape->status == MS_OK; i++)
        widen(tape, all, &all->units.items[i]);
}

void ms_fsdp1_make_units(ms_tape *tape, ms_fsdp1 *all)
{
    for (uint32_t layer = 0; layer < tape->layer_scopes.count && tape->status == MS_OK; layer++)
        add_unit(tape, all, layer);
    add_unit(tape, all, MS_NONE);
    tape->is_meta = true;
    for (uint32_t i = 0; i < all->units.count && tape->status == MS_OK; i++)
        make_gathered(tape, all, &all->units.items[i]);
    for (uint32_t i = 0; i < tape->module_buffers.count && all->parallel->build != MS_BUILD_DEVICE;
         i++)
        ms_storage_empty(tape, tape->module_buffers.items[i]);
    tape->is_meta = false;
    for (uint32_t i = 0; i < all->units.count && tape->status == MS_OK; i++)
        make_part(tape, all, &all->units.items[i]);
    widen_parts(tape, all);
    for (uint32_t i = 0; i < all->units.count && tape->status == MS_OK; i++)
        make_shards(tape, all, &all->units.items[i]);
}

/* ---- the first forward ---- */

static void allocate_once(ms_tape *tape, const ms_fsdp1_unit *unit, uint64_t elements,
                          ms_dtype dtype)
{
    ms_consume(tape, ms_fsdp1_buffer(tape, unit, elements, dtype, MS_STREAM_OPERATORS));
}

/* Tensors whose memory is used later are made with memory, which is freed. */
static void initialize(ms_tape *tape, const ms_fsdp1 *all, const ms_fsdp1_unit *unit)
{
    const ms_parallel *parallel = all->parallel;
    uint64_t whole = unit->part * parallel->layout.shards;
    bool casts = parallel->param_dtype != parallel->shard_dtype;
    if (!unit->count)
        return;
    if (casts)
        allocate_once(tape, unit, unit->part, parallel->param_dtype);
    allocate_once(tape, unit, whole, parallel->param_dtype);
    if (casts)
        allocate_once(tape, unit, whole, parallel->shard_dtype);
}

void ms_fsdp1_initialize(ms_tape *tape, ms_fsdp1 *all)
{
    initialize(tape, all, ms_fsdp1_root(all));
    for (uint32_t i = 0; i + 1 < all->units.count; i++)
        initialize(tape, all, &all->units.items[i]);
}

/* ---- what is seen ---- */

static void show_unit(ms_tape *tape, const ms_fsdp1 *all, const ms_fsdp1_unit *unit)
{
    for (uint32_t i = 0; i < unit->count && !ms_idle(tape); i++) {
        const ms_fsdp1_parameter *row = ms_fsdp1_parameter_of(all, unit, i);
        ms_parameter *parameter = &tape->parameters.items[row->index];
        parameter->tensor = row->shard;
        if (unit->shard_grad && row->in_shard)
            parameter->grad = elements_of(tape, unit->shard_grad, row->in_shard);
    }
}

void ms_fsdp1_show_shards(ms_tape *tape, ms_fsdp1 *all)
{
    for (uint32_t i = 0; i < all->units.count; i++) {
        ms_fsdp1_unit *unit = &all->units.items[i];
        show_unit(tape, all, unit);
        if (!all->parallel->has_flat_parameters)
            continue;
        ms_release(tape, unit->shard_grad);
        unit->shard_grad = 0;
    }
    all->are_shards_shown = true;
}

void ms_fsdp1_show_parameters(ms_tape *tape, ms_fsdp1 *all)
{
    for (uint32_t i = 0; i < all->parameters.count; i++) {
        const ms_fsdp1_parameter *row = &all->parameters.items[i];
        tape->parameters.items[row->index].tensor = row->full;
    }
}
