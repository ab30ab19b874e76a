/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tensors, storages and their references.
 */
#include "tape/tape.h"

#include <string.h>

#include "base/arena.h"
#include "base/size.h"

bool ms_tape_init(ms_tape *tape, ms_trace *trace, const ms_run_config *run)
{
    memset(tape, 0, sizeof *tape);
    tape->trace = trace;
    tape->run = run;
    tape->on_cpu = run->device->is_cpu;
    tape->new_category = MS_CATEGORY_TEMPORARY;
    tape->scope = tape->current_op = MS_NONE;
    tape->saving_frame = tape->recompute_frame = MS_NONE;
    return ms_vec_push(&tape->tensors, (ms_tensor_info){.storage = MS_NONE, .node = MS_NONE});
}

void ms_tape_free(ms_tape *tape)
{
    ms_vec_free(&tape->tensors);
    ms_vec_free(&tape->free_tensors);
    ms_vec_free(&tape->storage_refs);
    ms_vec_free(&tape->nodes);
    ms_vec_free(&tape->metas);
    ms_vec_free(&tape->buffers);
    ms_vec_free(&tape->parameters);
    ms_vec_free(&tape->checkpoints);
    ms_vec_free(&tape->recomputed);
    ms_vec_free(&tape->graph_holds);
    ms_vec_free(&tape->ready);
    ms_vec_free(&tape->casts);
    ms_vec_free(&tape->name_table);
}

void ms_tape_fail(ms_tape *tape, ms_status status)
{
    if (tape->status == MS_OK)
        tape->status = status;
}

static void add_event(ms_tape *tape, ms_event_kind kind, uint32_t id)
{
    if (!ms_vec_push(&tape->trace->events, (ms_event){kind, id}))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

/* ---- shapes ---- */

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
    return n.overflow ? UINT64_MAX : n.bytes;
}

uint64_t ms_tensor_bytes(ms_tape *tape, ms_tensor tensor)
{
    const ms_tensor_info *info = ms_info(tape, tensor);
    ms_size bytes = ms_size_mul(ms_size_of(ms_elements(&info->shape)),
                                ms_dtype_bytes((ms_dtype)info->dtype));
    return bytes.overflow ? UINT64_MAX : bytes.bytes;
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
    /* Take dimensions by growing stride: each must begin where the smaller ones end. */
    uint64_t expected = 1, taken = 0;
    for (uint32_t n = 0; n < info->shape.rank; n++) {
        uint32_t best = MS_MAX_RANK;
        for (uint32_t i = 0; i < info->shape.rank; i++)
            if (!(taken >> i & 1) && (best == MS_MAX_RANK || info->strides[i] < info->strides[best] ||
                                      info->shape.dims[i].value == 1))
                best = i;
        taken |= 1u << best;
        if (info->shape.dims[best].value == 1)
            continue;
        if (info->strides[best] != expected)
            return false;
        expected *= info->shape.dims[best].value;
    }
    return true;
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
    ms_storage storage = {.bytes = bytes.bytes,
                          .op = tape->current_op,
                          .scope = tape->scope,
                          .rank = (uint8_t)shape->rank,
                          .dtype = (uint8_t)dtype,
                          .category = tape->new_category};
    for (uint32_t i = 0; i < shape->rank; i++)
        storage.symbols[i] = shape->dims[i].symbol;
    uint32_t index = tape->trace->storages.count;
    if (!ms_vec_push(&tape->trace->storages, storage) || !ms_vec_push(&tape->storage_refs, 0u)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return MS_NONE;
    }
    if (bytes.bytes)
        add_event(tape, MS_EVENT_ALLOC, index);
    return index;
}

static void release_storage(ms_tape *tape, uint32_t storage)
{
    if (--tape->storage_refs.items[storage] == 0 && tape->trace->storages.items[storage].bytes)
        add_event(tape, MS_EVENT_FREE, storage);
}

/* ---- tensors ---- */

static ms_tensor add_tensor(ms_tape *tape, uint32_t storage, const ms_shape *shape, ms_dtype dtype)
{
    if (storage == MS_NONE)
        return 0;
    ms_tensor tensor;
    if (tape->free_tensors.count) {
        tensor = tape->free_tensors.items[--tape->free_tensors.count];
    } else {
        tensor = tape->tensors.count;
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
    tape->storage_refs.items[storage]++;
    return tensor;
}

static void destroy_tensor(ms_tape *tape, ms_tensor tensor)
{
    ms_tensor_info *info = ms_info(tape, tensor);
    release_storage(tape, info->storage);
    info->storage = MS_NONE;
    if (!ms_vec_push(&tape->free_tensors, tensor))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

ms_tensor ms_empty_strided(ms_tape *tape, ms_shape shape, const uint64_t *strides, ms_dtype dtype)
{
    if (ms_idle(tape))
        return 0;
    ms_tensor tensor = add_tensor(tape, add_storage(tape, &shape, dtype), &shape, dtype);
    if (tensor)
        memcpy(ms_info(tape, tensor)->strides, strides, shape.rank * sizeof *strides);
    return tensor;
}

ms_tensor ms_empty(ms_tape *tape, ms_shape shape, ms_dtype dtype)
{
    uint64_t strides[MS_MAX_RANK];
    contiguous_strides(&shape, strides);
    return ms_empty_strided(tape, shape, strides, dtype);
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
        return ms_empty_strided(tape, info.shape, info.strides, dtype);
    uint64_t strides[MS_MAX_RANK];
    dense_strides(&info, strides);
    return ms_empty_strided(tape, info.shape, strides, dtype);
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
    ms_tensor view = add_tensor(tape, from.storage, &shape, (ms_dtype)from.dtype);
    if (!view)
        return 0;
    ms_tensor_info *info = ms_info(tape, view);
    info->is_view = true;
    memcpy(info->strides, strides, shape.rank * sizeof *strides);
    return view;
}

void ms_retain(ms_tape *tape, ms_tensor tensor)
{
    if (tensor)
        ms_info(tape, tensor)->refs++;
}

void ms_release(ms_tape *tape, ms_tensor tensor)
{
    if (tensor && --ms_info(tape, tensor)->refs == 0)
        destroy_tensor(tape, tensor);
}

ms_tensor ms_unown(ms_tape *tape, ms_tensor tensor)
{
    if (tensor)
        ms_info(tape, tensor)->refs--;
    return tensor;
}

void ms_consume(ms_tape *tape, ms_tensor tensor)
{
    if (tensor && ms_info(tape, tensor)->refs == 0)
        destroy_tensor(tape, tensor);
}

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
    if (*place)
        return *place;
    const char *copy = ms_arena_strdup(trace->names_arena, text);
    if (!copy || !ms_vec_push(&trace->names, copy)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return 0;
    }
    return *place = trace->names.count - 1;
}

void ms_name_storage(ms_tape *tape, ms_tensor tensor, const char *name, ms_category category)
{
    if (!tensor)
        return;
    uint32_t name_index = ms_tape_name(tape, name);
    ms_storage *storage = &tape->trace->storages.items[ms_info(tape, tensor)->storage];
    storage->name = name_index;
    storage->category = (uint8_t)category;
}

/* ---- frames ---- */

ms_frame ms_frame_begin(ms_tape *tape)
{
    return (ms_frame){.tape = tape};
}

ms_tensor *ms_argument(ms_frame *frame, ms_tensor value)
{
    ms_retain(frame->tape, value);
    frame->arguments[frame->argument_count++] = value;
    return ms_local(frame, value);
}

ms_tensor *ms_local(ms_frame *frame, ms_tensor value)
{
    ms_retain(frame->tape, value);
    ms_tensor *slot = &frame->slots[frame->count++];
    *slot = value;
    return slot;
}

void ms_assign(ms_frame *frame, ms_tensor *local, ms_tensor value)
{
    if (frame->tape->stopped)
        return; /* an exception is on its way: nothing is bound */
    ms_retain(frame->tape, value);
    ms_tensor old = *local;
    *local = value;
    ms_release(frame->tape, old);
}

ms_tensor ms_frame_end(ms_frame *frame, const ms_tensor *result)
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

/* ---- modules ---- */

uint32_t ms_scope_add(ms_tape *tape, uint32_t parent, const char *name, uint32_t layer)
{
    ms_scope scope = {.parent = parent, .name = ms_tape_name(tape, name), .layer = layer};
    if (layer == MS_NONE && parent != MS_NONE)
        scope.layer = tape->trace->scopes.items[parent].layer;
    if (!ms_vec_push(&tape->trace->scopes, scope)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return parent;
    }
    return tape->trace->scopes.count - 1;
}
