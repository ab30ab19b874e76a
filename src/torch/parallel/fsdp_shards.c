/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shards: torch.chunk of the first dimension. Every rank's shard has the rows of the first one;
 * where there are fewer, the first forward copies them to a padded tensor.
 */
#include "torch/parallel/fsdp_units.h"

#include "core/trace/build.h"

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
    tape->is_meta = all->parallel->offloads;
    ms_tensor shard = ms_empty(tape, with_rows(tape, &row->shape, count), row->dtype);
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

/* ---- from the meta device ---- */

/* to_empty() of parameters in their order, then of buffers. */
static void materialise(ms_tape *tape, const ms_fsdp *all)
{
    for (uint32_t i = 0; i < all->by_place.count && tape->status == MS_OK; i++) {
        if (all->by_place.items[i] == MS_NONE)
            continue; /* another stage's */
        ms_fsdp_parameter *row = &all->parameters.items[all->by_place.items[i]];
        row->shard = new_shard(tape, all, row, ms_fsdp_rows_of(all, &row->shape).local);
    }
}

static void move_buffers(ms_tape *tape)
{
    for (uint32_t i = 0; i < tape->module_buffers.count && tape->status == MS_OK; i++)
        ms_storage_refill(tape, tape->module_buffers.items[i]);
}

/* Nothing of the model is on the device. */
static void leave_model(ms_tape *tape)
{
    for (uint32_t i = 0; i < ms_fsdp_count(tape); i++)
        ms_storage_empty(tape, ms_fsdp_placed(tape, i).tensor);
    for (uint32_t i = 0; i < tape->module_buffers.count; i++)
        ms_storage_empty(tape, tape->module_buffers.items[i]);
    tape->is_meta = false;
}

/* The first stage makes the buffers, which the others share. */
static void shard_meta_model(ms_tape *tape, ms_fsdp *stages, uint64_t stage_count)
{
    leave_model(tape);
    for (uint64_t k = 0; k < stage_count; k++) {
        ms_fsdp_add_units(tape, &stages[k]);
        materialise(tape, &stages[k]);
        if (!k)
            move_buffers(tape);
    }
}

/* ---- from the device ---- */

static ms_tensor padded_shard(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_parameter *row)
{
    const ms_fsdp_rows r = ms_fsdp_rows_of(all, &row->shape);
    ms_tensor padded = new_shard(tape, all, row, r.padded);
    if (!padded || r.local == r.padded)
        return padded;
    ms_tensor view = ms_alias(tape, padded, with_rows(tape, &row->shape, r.local),
                              ms_info(tape, padded)->strides);
    ms_retain(tape, view);
    ms_release(tape, padded);
    return view;
}

static void leave_unit(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_unit *unit)
{
    for (uint32_t i = 0; i < unit->count && tape->status == MS_OK; i++)
        ms_parallel_leave_device(tape, all->parameters.items[unit->first + i].full);
}

/* fully_shard() of one unit: the whole parameters go when it returns, unless others hold them. */
static void shard_unit(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_unit *unit, bool leaves)
{
    for (uint32_t i = 0; i < unit->count && tape->status == MS_OK; i++) {
        ms_fsdp_parameter *row = &all->parameters.items[unit->first + i];
        row->shard = padded_shard(tape, all, row);
    }
    if (leaves)
        leave_unit(tape, all, unit);
}

/* accelerate gives its optimizer a number for each parameter that it trains, as long as it divides
 * the model. */
static ms_tensor *new_placeholders(ms_tape *tape)
{
    uint32_t count = tape->parameters.count;
    ms_tensor *numbers = calloc(count ? count : 1, sizeof *numbers);
    if (!numbers)
        ms_tape_fail(tape, MS_ERR_NOMEM);
    for (uint32_t i = 0; numbers && i < count; i++) {
        ms_dtype dtype = (ms_dtype)ms_info(tape, tape->parameters.items[i].tensor)->dtype;
        numbers[i] = ms_empty(tape, MS_SHAPE(ms_dim_number(&tape->trace->symbols, 1)), dtype);
    }
    return numbers;
}

static void free_placeholders(ms_tape *tape, ms_tensor *numbers)
{
    for (uint32_t i = 0; numbers && i < tape->parameters.count; i++)
        ms_consume(tape, numbers[i]);
    free(numbers);
}

/* The layers first, then the ends; accelerate has the state dictionary of the whole model until all
 * is divided. */
static void shard_device_model_of_accelerate(ms_tape *tape, ms_fsdp *all)
{
    const uint32_t layers = tape->layer_scopes.count, first = all->parallel->has_end_units;
    ms_tensor *numbers = new_placeholders(tape);
    for (uint32_t i = 0; i < layers && tape->status == MS_OK; i++)
        shard_unit(tape, all, &all->units.items[i + first], false);
    if (first)
        shard_unit(tape, all, &all->units.items[0], false);
    for (uint32_t i = layers + first; i < all->units.count && tape->status == MS_OK; i++)
        shard_unit(tape, all, &all->units.items[i], false);
    for (uint32_t i = 0; i < all->units.count && tape->status == MS_OK; i++)
        leave_unit(tape, all, &all->units.items[i]);
    free_placeholders(tape, numbers);
}

static void shard_device_model(ms_tape *tape, ms_fsdp *all)
{
    ms_fsdp_add_units(tape, all);
    if (all->parallel->units == MS_UNITS_ACCELERATE)
        shard_device_model_of_accelerate(tape, all);
    else
        for (uint32_t i = 0; i < all->units.count && tape->status == MS_OK; i++)
            shard_unit(tape, all, &all->units.items[i], true);
    all->is_initialized = true; /* all shards are padded */
}

/* ---- from the host ---- */

/* A whole parameter on the device, in the type of its shards. */
static ms_tensor moved(ms_tape *tape, const ms_fsdp_parameter *row)
{
    ms_tensor whole = ms_empty(tape, ms_info(tape, row->full)->shape, row->dtype);
    ms_retain(tape, whole);
    return whole;
}

/* The shard of a whole parameter is made on the device, also if it goes to the host. */
static ms_tensor divided(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_parameter *row)
{
    uint64_t count = ms_fsdp_rows_of(all, &row->shape).padded;
    if (all->parallel->offloads)
        ms_consume(tape, ms_empty(tape, with_rows(tape, &row->shape, count), row->dtype));
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
        row[i].whole = moved(tape, &row[i]);
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
    leave_model(tape);
    ms_fsdp_add_units(tape, all);
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
    ms_tensor whole = moved(tape, row);
    row->shard = divided(tape, all, row);
    ms_release(tape, whole);
}

/* Rank 0 sends one whole tensor after the other, a tied one twice, and each rank keeps its part. */
static void shard_broadcast_model(ms_tape *tape, ms_fsdp *all)
{
    ms_tensor head = 0;
    leave_model(tape);
    ms_fsdp_add_units(tape, all);
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
    switch (stages->parallel->build) { /* a pipeline's stages are built on the meta device */
    case MS_BUILD_META:
        shard_meta_model(tape, stages, count);
        break;
    case MS_BUILD_DEVICE:
        shard_device_model(tape, stages);
        break;
    case MS_BUILD_HOST:
    case MS_BUILD_HOST_BASE: /* refused for shards, as the next */
    case MS_BUILD_DEVICE_MAP:
        shard_host_model(tape, stages);
        break;
    case MS_BUILD_BROADCAST:
        shard_broadcast_model(tape, stages);
        break;
    }
    for (uint64_t i = 0; i < count; i++)
        finish_units(tape, &stages[i]);
}

/* ---- the first forward ---- */

static void pad(ms_tape *tape, const ms_fsdp *all, ms_fsdp_parameter *row)
{
    const ms_shape local = ms_info(tape, row->shard)->shape;
    const ms_fsdp_rows r = ms_fsdp_rows_of(all, &row->shape);
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
