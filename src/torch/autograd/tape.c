/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tensors, storages and their references.
 */
#include "torch/autograd/tape.h"

#include <string.h>

#include "base/arena.h"
#include "base/size.h"
#include "core/trace/build.h"

/* Names and modules. */

/* ---- names: an open hash table of indices into trace->names ---- */

static uint32_t hash_of(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * 16777619u;
    return hash;
}

/* The place of the name, or the free place where it belongs. */
static uint32_t *name_place(ms_tape *tape, const char *text)
{
    uint32_t mask = tape->name_table.capacity - 1;
    for (uint32_t i = hash_of(text) & mask;; i = (i + 1) & mask) {
        uint32_t *place = &tape->name_table.items[i];
        if (*place == 0 || strcmp(tape->trace->names.items[*place], text) == 0)
            return place;
    }
}

static bool grow_name_table(ms_tape *tape)
{
    uint32_t capacity = tape->name_table.capacity ? 2 * tape->name_table.capacity : 64;
    uint32_t *items = calloc(capacity, sizeof *items);
    if (!items)
        return false;
    free(tape->name_table.items);
    tape->name_table.items = items;
    tape->name_table.capacity = capacity;
    for (uint32_t i = 1; i < tape->trace->names.count; i++)
        *name_place(tape, tape->trace->names.items[i]) = i;
    return true;
}

uint32_t ms_tape_name(ms_tape *tape, const char *text)
{
    ms_trace *trace = tape->trace;
    if (2 * trace->names.count >= tape->name_table.capacity && !grow_name_table(tape)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return 0;
    }
    uint32_t *place = name_place(tape, text);
    if (*place == 0) {
        uint32_t name = ms_trace_add_name(trace, text);
        if (name == MS_NONE) {
            ms_tape_fail(tape, MS_ERR_NOMEM);
            return 0;
        }
        *place = name;
    }
    return *place;
}

/* ---- modules ---- */

static void note_layer(ms_tape *tape, uint32_t layer, uint32_t scope)
{
    while (tape->layer_scopes.count <= layer)
        if (!ms_vec_push(&tape->layer_scopes, MS_NONE)) {
            ms_tape_fail(tape, MS_ERR_NOMEM);
            return;
        }
    tape->layer_scopes.items[layer] = scope;
}

uint32_t ms_scope_add(ms_tape *tape, uint32_t parent, const char *name, uint32_t layer)
{
    ms_scope scope = {.parent = parent, .name = ms_tape_name(tape, name), .layer = layer};
    uint32_t index = ms_trace_add_scope(tape->trace, scope);
    if (index == MS_NONE) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return parent;
    }
    if (layer != MS_NONE)
        note_layer(tape, layer, index);
    return index;
}

uint32_t ms_layer_scope(const ms_tape *tape, uint32_t layer)
{
    return layer < tape->layer_scopes.count ? tape->layer_scopes.items[layer] : MS_NONE;
}

void ms_module_enter(ms_tape *tape, uint32_t scope)
{
    uint32_t layer = ms_scope_layer(tape, scope);
    if (ms_scope_layer(tape, tape->module) != layer && !ms_idle(tape))
        ms_trace_event(tape, MS_EVENT_LAYER, layer);
    tape->module = scope;
}

void ms_module_begin(ms_tape *tape, uint32_t scope)
{
    ms_module_enter(tape, scope);
    ms_hooks_forward_begins(tape, scope);
}

void ms_module_end(ms_tape *tape, uint32_t scope)
{
    ms_hooks_forward_ends(tape, scope);
    ms_module_enter(tape, MS_NONE);
}

/* ---- frame ---- */

/* Frames: references held by Python's locals and arguments. */

ms_locals ms_locals_begin(ms_tape *tape)
{
    return (ms_locals){.tape = tape};
}

ms_tensor *ms_argument(ms_locals *frame, ms_tensor value)
{
    ms_retain(frame->tape, value);
    frame->arguments[frame->argument_count++] = value;
    return ms_local(frame, value);
}

ms_tensor *ms_local(ms_locals *frame, ms_tensor value)
{
    ms_retain(frame->tape, value);
    ms_tensor *slot = &frame->slots[frame->count++];
    *slot = value;
    return slot;
}

void ms_assign(ms_locals *frame, ms_tensor *local, ms_tensor value)
{
    if (frame->tape->stopped)
        return; /* an exception is on its way: nothing is bound */
    ms_retain(frame->tape, value);
    ms_tensor old = *local;
    *local = value;
    ms_release(frame->tape, old);
}

ms_tensor ms_locals_end(ms_locals *frame, const ms_tensor *result)
{
    ms_tape *tape = frame->tape;
    ms_tensor value = result && !tape->stopped ? *result : 0;
    ms_retain(tape, value);
    for (uint32_t i = 0; i < frame->count; i++)
        ms_release(tape, frame->slots[i]);
    for (uint32_t i = 0; i < frame->argument_count; i++)
        ms_release(tape, frame->arguments[i]);
    return ms_unown(tape, value);
}

/* ---- shape ---- */

/* Shapes and layouts. */

ms_shape ms_shape_of(uint32_t rank, const ms_dim *dims)
{
    ms_shape shape = {.rank = rank};
    memcpy(shape.dims, dims, rank * sizeof *dims);
    return shape;
}

uint64_t ms_elements(const ms_shape *shape)
{
    ms_size n = ms_size_of(1);
    for (uint32_t i = 0; i < shape->rank; i++)
        n = ms_size_mul(n, shape->dims[i].value);
    return ms_size_capped(n);
}

uint64_t ms_tensor_bytes(ms_tape *tape, ms_tensor tensor)
{
    const ms_tensor_info *info = ms_info(tape, tensor);
    ms_size bytes =
        ms_size_mul(ms_size_of(ms_elements(&info->shape)), ms_dtype_bytes((ms_dtype)info->dtype));
    return ms_size_capped(bytes);
}

bool ms_same_shape(const ms_shape *a, const ms_shape *b)
{
    if (a->rank != b->rank)
        return false;
    for (uint32_t i = 0; i < a->rank; i++)
        if (a->dims[i].value != b->dims[i].value)
            return false;
    return true;
}

bool ms_is_contiguous(const ms_tensor_info *info)
{
    uint64_t expected = 1;
    for (uint32_t i = info->shape.rank; i-- > 0;) {
        uint64_t size = info->shape.dims[i].value;
        if (size == 1)
            continue;
        if (info->strides[i] != expected)
            return false;
        expected *= size;
    }
    return true;
}

bool ms_is_dense(const ms_tensor_info *info)
{
    if (ms_is_contiguous(info))
        return true;
    /* In some order of the dimensions, each begins where the smaller ones end. */
    uint64_t expected = 1;
    uint32_t rank = info->shape.rank, left = 0;
    for (uint32_t i = 0; i < rank; i++)
        left |= (uint32_t)(info->shape.dims[i].value != 1) << i;
    while (left) {
        uint32_t next = 0;
        while (next < rank && !((left >> next & 1) && info->strides[next] == expected))
            next++;
        if (next == rank)
            return false;
        left &= ~(1u << next);
        expected *= info->shape.dims[next].value;
    }
    return true;
}

/* ---- tape ---- */

bool ms_tape_init(ms_tape *tape, ms_trace *trace, ms_tape_options options)
{
    memset(tape, 0, sizeof *tape);
    tape->trace = trace;
    tape->options = options;
    tape->on_cpu = options.device->is_cpu;
    tape->new_category = MS_CATEGORY_TEMPORARY;
    tape->scope = tape->current_op = MS_NONE;
    tape->module = tape->hooks.saved_top = MS_NONE;
    return ms_vec_push(&tape->tensors, (ms_tensor_info){.storage = MS_NONE, .node = MS_NONE});
}

void ms_tape_free(ms_tape *tape)
{
    ms_vec_free(&tape->tensors);
    ms_vec_free(&tape->free_tensors);
    ms_vec_free(&tape->storage_refs);
    ms_vec_free(&tape->free_storages);
    ms_vec_free(&tape->nodes);
    ms_vec_free(&tape->metas);
    ms_vec_free(&tape->buffers);
    ms_vec_free(&tape->parameters);
    ms_vec_free(&tape->frozen);
    ms_vec_free(&tape->module_buffers);
    ms_vec_free(&tape->in_order);
    ms_vec_free(&tape->stand_ins);
    ms_vec_free(&tape->graph_holds);
    ms_vec_free(&tape->forgotten);
    ms_vec_free(&tape->ready);
    ms_vec_free(&tape->casts);
    ms_vec_free(&tape->name_table);
    ms_vec_free(&tape->layer_scopes);
    ms_hooks_free(&tape->hooks);
}

void ms_trace_event(ms_tape *tape, ms_event_kind kind, uint32_t id)
{
    if (tape->trace->events.count >= MS_MOST_EVENTS)
        ms_tape_fail(tape, MS_ERR_LIMIT);
    else if (!ms_trace_add_event(tape->trace, kind, id))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

void ms_host_waits(ms_tape *tape)
{
    if (tape->trace->uses.count > 0)
        ms_trace_event(tape, MS_EVENT_HOST_WAIT, MS_NONE);
    tape->host_done = tape->host_events;
}

uint32_t ms_host_event(ms_tape *tape)
{
    ms_trace_event(tape, MS_EVENT_HOST_EVENT, tape->host_events);
    return tape->host_events++;
}

void ms_host_waits_for(ms_tape *tape, uint32_t event)
{
    ms_trace_event(tape, MS_EVENT_HOST_WAIT, event);
    if (event >= tape->host_done)
        tape->host_done = event + 1;
}

static void contiguous_strides(const ms_shape *shape, uint64_t *strides)
{
    uint64_t stride = 1;
    for (uint32_t i = shape->rank; i-- > 0;) {
        strides[i] = stride;
        stride *= shape->dims[i].value ? shape->dims[i].value : 1;
    }
}

/* ---- storages ---- */

void ms_tape_forget(ms_tape *tape)
{
    ms_trace_clear_events(tape->trace);
    tape->free_storages.count = 0;
    for (uint32_t i = tape->storage_refs.count; i-- > 0;)
        if (tape->storage_refs.items[i] == 0 && !ms_vec_push(&tape->free_storages, i))
            ms_tape_fail(tape, MS_ERR_NOMEM);
}

static uint32_t add_row(ms_tape *tape, const ms_storage *storage)
{
    if (tape->free_storages.count > 0) {
        uint32_t index = tape->free_storages.items[--tape->free_storages.count];
        ms_trace_renew_storage(tape->trace, index, storage);
        return index;
    }
    uint32_t index = ms_trace_add_storage(tape->trace, storage);
    return index == MS_NONE || !ms_vec_push(&tape->storage_refs, 0u) ? MS_NONE : index;
}

static uint32_t push_storage(ms_tape *tape, const ms_storage *storage)
{
    uint32_t index = add_row(tape, storage);
    if (index == MS_NONE) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return MS_NONE;
    }
    if (storage->bytes && !tape->is_meta)
        ms_trace_event(tape, MS_EVENT_ALLOC, index);
    return index;
}

static uint32_t add_storage(ms_tape *tape, const ms_shape *shape, ms_dtype dtype)
{
    ms_size bytes = ms_size_mul(ms_size_of(1), ms_dtype_bytes(dtype));
    for (uint32_t i = 0; i < shape->rank; i++)
        bytes = ms_size_mul(bytes, shape->dims[i].value);
    /* Above 2^62 even sums of a few tensors would wrap. */
    if (bytes.overflow || bytes.bytes >> 62) {
        ms_tape_fail(tape, MS_ERR_OVERFLOW);
        return MS_NONE;
    }
    ms_storage storage = {.bytes = tape->muted ? 0 : bytes.bytes,
                          .op = tape->current_op,
                          .scope = tape->scope,
                          .rank = (uint8_t)shape->rank,
                          .dtype = (uint8_t)dtype,
                          .category = tape->new_category,
                          .stream = tape->stream,
                          .same_as = MS_NONE};
    for (uint32_t i = 0; i < shape->rank; i++)
        storage.symbols[i] = shape->dims[i].symbol;
    return push_storage(tape, &storage);
}

void ms_storage_renew(ms_tape *tape, ms_tensor tensor)
{
    uint32_t before = ms_info(tape, tensor)->storage;
    const ms_storage old = tape->trace->storages.items[before];
    uint32_t index = push_storage(tape, &old);
    if (index == MS_NONE)
        return;
    ms_trace_identify(tape->trace, index, before);
    tape->storage_refs.items[index] = 1;
    ms_info(tape, tensor)->storage = index;
}

void ms_storage_empty(ms_tape *tape, ms_tensor tensor)
{
    uint32_t storage = ms_info(tape, tensor)->storage;
    if (tape->trace->storages.items[storage].bytes && !tape->is_meta)
        ms_trace_event(tape, MS_EVENT_FREE, storage);
    tape->storage_refs.items[storage] |= MS_STORAGE_EMPTY;
}

/* Views of the storage follow it to its new row. */
static void move_tensors(ms_tape *tape, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < tape->tensors.count; i++)
        if (tape->tensors.items[i].storage == from)
            tape->tensors.items[i].storage = to;
}

void ms_storage_refill(ms_tape *tape, ms_tensor tensor)
{
    uint32_t before = ms_info(tape, tensor)->storage;
    ms_storage fresh = tape->trace->storages.items[before];
    fresh.stream = tape->stream;
    fresh.saved = false;
    uint32_t index = push_storage(tape, &fresh);
    if (index == MS_NONE)
        return;
    uint32_t count = tape->storage_refs.items[before] & ~MS_STORAGE_EMPTY;
    tape->storage_refs.items[before] = 0;
    tape->storage_refs.items[index] = count;
    if (count > 1)
        move_tensors(tape, before, index);
    else
        ms_info(tape, tensor)->storage = index;
}

void ms_storage_retain(ms_tape *tape, uint32_t storage)
{
    tape->storage_refs.items[storage]++;
}

void ms_storage_stand_in(ms_tape *tape, uint32_t storage, uint32_t original)
{
    if (!ms_vec_push(&tape->stand_ins, (ms_stand_in){storage, original}))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

static void release_original(ms_tape *tape, uint32_t storage)
{
    for (uint32_t i = tape->stand_ins.count; i-- > 0;) {
        if (tape->stand_ins.items[i].storage != storage)
            continue;
        uint32_t original = tape->stand_ins.items[i].original;
        tape->stand_ins.items[i] = tape->stand_ins.items[--tape->stand_ins.count];
        ms_storage_release(tape, original);
        return;
    }
}

void ms_storage_release(ms_tape *tape, uint32_t storage)
{
    if (--tape->storage_refs.items[storage] > 0)
        return;
    if (tape->is_meta)
        return;
    if (tape->trace->storages.items[storage].bytes)
        ms_trace_event(tape, MS_EVENT_FREE, storage);
    else if (tape->stand_ins.count)
        release_original(tape, storage);
}

/* ---- tensors ---- */

/* `strides` may be those of a tensor of this tape, whose table moves as it grows. */
static ms_tensor add_tensor(ms_tape *tape, uint32_t storage, const ms_shape *shape,
                            const uint64_t *strides, ms_dtype dtype)
{
    if (storage == MS_NONE)
        return 0;
    uint64_t kept[MS_MAX_RANK];
    ms_tensor tensor;
    if (tape->free_tensors.count) {
        tensor = tape->free_tensors.items[--tape->free_tensors.count];
    } else {
        tensor = tape->tensors.count;
        memcpy(kept, strides, shape->rank * sizeof *strides);
        strides = kept;
        if (!ms_vec_reserve(&tape->tensors)) {
            ms_tape_fail(tape, MS_ERR_NOMEM);
            return 0;
        }
        tape->tensors.count++;
    }
    ms_tensor_info *info = ms_info(tape, tensor);
    info->storage = storage;
    info->refs = 0;
    info->node = info->leaf = MS_NONE;
    info->node_output = 0;
    info->dtype = (uint8_t)dtype;
    info->requires_grad = info->is_view = false;
    info->shape = *shape;
    memcpy(info->strides, strides, shape->rank * sizeof *strides);
    tape->storage_refs.items[storage]++;
    return tensor;
}

void ms_tensor_destroy(ms_tape *tape, ms_tensor tensor)
{
    ms_tensor_info *info = ms_info(tape, tensor);
    ms_storage_release(tape, info->storage);
    info->storage = MS_NONE;
    if (!ms_vec_push(&tape->free_tensors, tensor))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

ms_tensor ms_storage_tensor(ms_tape *tape, uint32_t storage, const ms_tensor_info *like)
{
    if (ms_idle(tape))
        return 0;
    return add_tensor(tape, storage, &like->shape, like->strides, (ms_dtype)like->dtype);
}

/* Neither shape nor strides are in the tape's table. */
static ms_tensor make_empty(ms_tape *tape, const ms_shape *shape, const uint64_t *strides,
                            ms_dtype dtype)
{
    if (ms_idle(tape))
        return 0;
    return add_tensor(tape, add_storage(tape, shape, dtype), shape, strides, dtype);
}

ms_tensor ms_empty_strided(ms_tape *tape, ms_shape shape, const uint64_t *strides, ms_dtype dtype)
{
    return make_empty(tape, &shape, strides, dtype);
}

ms_tensor ms_empty(ms_tape *tape, ms_shape shape, ms_dtype dtype)
{
    uint64_t strides[MS_MAX_RANK];
    contiguous_strides(&shape, strides);
    return make_empty(tape, &shape, strides, dtype);
}

/* Dense, with dimensions in the order of the given strides: insertion by growing stride; broadcast
 * dimensions stay where they are. */
static void dense_strides(const ms_tensor_info *info, uint64_t *strides)
{
    uint32_t order[MS_MAX_RANK], rank = info->shape.rank;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t at = i, dim = rank - 1 - i;
        while (at > 0 && info->strides[dim] && info->strides[order[at - 1]] &&
               info->strides[dim] < info->strides[order[at - 1]]) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = dim;
    }
    uint64_t stride = 1;
    for (uint32_t i = 0; i < rank; i++) {
        strides[order[i]] = stride;
        stride *= info->shape.dims[order[i]].value;
    }
}

ms_tensor ms_empty_like(ms_tape *tape, ms_tensor like, ms_dtype dtype)
{
    if (ms_idle(tape) || !like)
        return 0;
    ms_tensor_info info = *ms_info(tape, like);
    if (ms_is_dense(&info))
        return make_empty(tape, &info.shape, info.strides, dtype);
    uint64_t strides[MS_MAX_RANK];
    dense_strides(&info, strides);
    return make_empty(tape, &info.shape, strides, dtype);
}

ms_tensor ms_empty_bytes(ms_tape *tape, uint64_t bytes, ms_dtype dtype)
{
    uint64_t count = bytes / ms_dtype_bytes(dtype);
    return ms_empty(tape, MS_SHAPE(ms_dim_number(&tape->trace->symbols, count)), dtype);
}

ms_tensor ms_alias(ms_tape *tape, ms_tensor base, ms_shape shape, const uint64_t *strides)
{
    if (ms_idle(tape) || !base)
        return 0;
    ms_tensor_info from = *ms_info(tape, base);
    ms_tensor view = add_tensor(tape, from.storage, &shape, strides, (ms_dtype)from.dtype);
    if (view)
        ms_info(tape, view)->is_view = true;
    return view;
}

void ms_change_in_place(ms_tape *tape, ms_tensor tensor)
{
    if (!ms_idle(tape) && tensor)
        tape->trace->storages.items[ms_info(tape, tensor)->storage].is_changed = true;
}

void ms_name_storage(ms_tape *tape, ms_tensor tensor, const char *name, ms_category category)
{
    if (!tensor)
        return;
    uint32_t storage = ms_info(tape, tensor)->storage;
    ms_trace_label(tape->trace, storage, ms_tape_name(tape, name),
                   tape->trace->storages.items[storage].scope);
    ms_trace_categorize(tape->trace, storage, category);
}

void ms_storage_swap(ms_tape *tape, ms_tensor a, ms_tensor b)
{
    ms_tensor_info *x = ms_info(tape, a), *y = ms_info(tape, b);
    uint32_t storage = x->storage;
    x->storage = y->storage;
    y->storage = storage;
    ms_dtype dtype = (ms_dtype)x->dtype;
    x->dtype = y->dtype;
    y->dtype = (uint8_t)dtype;
}
