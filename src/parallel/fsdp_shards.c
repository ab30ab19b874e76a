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

static ms_tensor new_shard(ms_tape *tape, const ms_fsdp *all, const ms_parameter *parameter,
                           uint64_t count)
{
    const ms_shape shape = ms_info(tape, parameter->tensor)->shape;
    ms_tensor shard = ms_empty(tape, with_rows(tape, &shape, count), all->parallel->shard_dtype);
    if (!shard)
        return 0;
    uint32_t storage = ms_info(tape, shard)->storage;
    ms_trace_categorize(tape->trace, storage, MS_CATEGORY_WEIGHT);
    ms_trace_label(tape->trace, storage, parameter->name, parameter->scope);
    ms_retain(tape, shard);
    return shard;
}

static void add_parameter(ms_tape *tape, ms_fsdp *all, uint32_t index)
{
    ms_parameter *parameter = &tape->parameters.items[index];
    const rows r = rows_of(all, &ms_info(tape, parameter->tensor)->shape);
    const ms_fsdp_parameter row = {.index = index,
                                   .full = parameter->tensor,
                                   .padded = r.padded * r.elements,
                                   .local = r.local * r.elements,
                                   .redistributes = parameter->redistributes};
    parameter->redistributes = false; /* the optimizer sees what was reduced */
    if (!ms_vec_push(&all->parameters, row))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

static bool belongs(ms_tape *tape, uint32_t index, uint32_t layer)
{
    return ms_scope_layer(tape, tape->parameters.items[index].scope) == layer;
}

/* The parameters of a layer are neighbours; those of the root are not. */
static void add_unit(ms_tape *tape, ms_fsdp *all, uint32_t layer, uint32_t *next)
{
    ms_fsdp_unit unit = {.first = all->parameters.count,
                         .scope = layer == MS_NONE ? MS_NONE : ms_layer_scope(tape, layer),
                         .reducing = MS_NONE};
    uint32_t count = tape->parameters.count;
    for (uint32_t i = layer == MS_NONE ? 0 : *next; i < count && tape->status == MS_OK; i++) {
        bool is_here = belongs(tape, i, layer);
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

/* to_empty() of parameters in their order, then of buffers. */
static void materialise(ms_tape *tape, const ms_fsdp *all)
{
    for (uint32_t i = 0; i < tape->parameters.count && tape->status == MS_OK; i++) {
        ms_parameter *parameter = &tape->parameters.items[i];
        const ms_shape shape = ms_info(tape, parameter->tensor)->shape;
        parameter->tensor = new_shard(tape, all, parameter, rows_of(all, &shape).local);
    }
    for (uint32_t i = 0; i < tape->module_buffers.count && tape->status == MS_OK; i++) {
        ms_storage_refill(tape, tape->module_buffers.items[i]);
    }
}

void ms_fsdp_make_units(ms_tape *tape, ms_fsdp *all)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < tape->parameters.count; i++)
        ms_storage_empty(tape, tape->parameters.items[i].tensor);
    for (uint32_t i = 0; i < tape->module_buffers.count; i++)
        ms_storage_empty(tape, tape->module_buffers.items[i]);
    tape->is_meta = false;
    for (uint32_t layer = 0; layer < tape->layer_scopes.count && tape->status == MS_OK; layer++)
        add_unit(tape, all, layer, &next);
    add_unit(tape, all, MS_NONE, &next);
    materialise(tape, all);
    for (uint32_t i = 0; i < all->parameters.count && tape->status == MS_OK; i++) {
        ms_fsdp_parameter *row = &all->parameters.items[i];
        row->shard = tape->parameters.items[row->index].tensor;
        /* gathered with the padding of all ranks */
        ms_trace_resize(tape->trace, ms_info(tape, row->full)->storage,
                        row->padded * all->parallel->layout.shards *
                            ms_dtype_bytes(all->parallel->param_dtype));
    }
}

static void pad(ms_tape *tape, const ms_fsdp *all, ms_fsdp_parameter *row)
{
    const ms_shape local = ms_info(tape, row->shard)->shape;
    const rows r = rows_of(all, &ms_info(tape, row->full)->shape);
    if (r.local == r.padded || tape->status != MS_OK)
        return;
    ms_tensor padded = new_shard(tape, all, &tape->parameters.items[row->index], r.padded);
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
        tape->parameters.items[row->index].tensor = row->full;
    }
}
