/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shards: torch.chunk of the first dimension. Every rank's shard has the rows of the first one;
 * where there are fewer, the first forward copies them to a padded tensor.
 */
#include "core/trace/build.h"
#include "torch/parallel/fsdp.h"

/* ---- fsdp units ---- */

/* Units of FSDP2: which parameters are taken together, and the rows of each that a rank has. */

/* Rows of a shard, and those that this rank has. */
typedef struct ms_fsdp_rows {
    uint64_t padded, local, elements; /* elements: of a row */
} ms_fsdp_rows;

/* By torch.chunk of the first dimension of a whole parameter. */
static ms_fsdp_rows fsdp_rows_of(const ms_fsdp *all, const ms_shape *shape)
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

/* All parameters in the order of modules, frozen ones too. */
static uint32_t fsdp_count(const ms_tape *tape)
{
    return tape->in_order.count ? tape->in_order.count : tape->parameters.count;
}

static ms_placed fsdp_placed(const ms_tape *tape, uint32_t i)
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
    const ms_placed p = fsdp_placed(tape, place);
    if (fsdp_is_packed(tape, p.tensor) && !parallel->shares_packed)
        return; /* ignored_params: it stays whole */
    const ms_shape shape = shape_of(tape, parallel, p.tensor);
    const ms_fsdp_rows r = fsdp_rows_of(all, &shape);
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
    const ms_placed p = fsdp_placed(tape, index);
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
    uint32_t count = is_elsewhere ? 0 : fsdp_count(tape), first = all->parameters.count;
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

/* The units of all layers, of the ends and of the root; MS_ERR_NOMEM is the tape's. */
static void fsdp_add_units(ms_tape *tape, ms_fsdp *all)
{
    uint32_t next = 0, count = fsdp_count(tape);
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

/* ---- fsdp shards ---- */

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
        row->shard = new_shard(tape, all, row, fsdp_rows_of(all, &row->shape).local);
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
    for (uint32_t i = 0; i < fsdp_count(tape); i++)
        ms_storage_empty(tape, fsdp_placed(tape, i).tensor);
    for (uint32_t i = 0; i < tape->module_buffers.count; i++)
        ms_storage_empty(tape, tape->module_buffers.items[i]);
    tape->is_meta = false;
}

/* The first stage makes the buffers, which the others share. */
static void shard_meta_model(ms_tape *tape, ms_fsdp *stages, uint64_t stage_count)
{
    leave_model(tape);
    for (uint64_t k = 0; k < stage_count; k++) {
        fsdp_add_units(tape, &stages[k]);
        materialise(tape, &stages[k]);
        if (!k)
            move_buffers(tape);
    }
}

/* ---- from the device ---- */

static ms_tensor padded_shard(ms_tape *tape, const ms_fsdp *all, const ms_fsdp_parameter *row)
{
    const ms_fsdp_rows r = fsdp_rows_of(all, &row->shape);
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
    fsdp_add_units(tape, all);
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
    uint64_t count = fsdp_rows_of(all, &row->shape).padded;
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
    fsdp_add_units(tape, all);
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
    fsdp_add_units(tape, all);
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
    const ms_fsdp_rows r = fsdp_rows_of(all, &row->shape);
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
