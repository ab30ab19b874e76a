/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Offload: while a layer's forward runs, saved tensors are copied to pinned host memory on a
 * separate stream. They are freed on the device after the next layer's forward, and fetched while
 * backward runs the layer above. The compute stream waits for copies only at these two points.
 *
 * A storage is offloaded if the layer allocated it, it has at least LEAST_BYTES, and the offloaded
 * bytes stay within a share: the layer's own of the bytes seen so far, or that of a tag, of all its
 * bytes in a pass (offload_share.h); the first slot that saves it decides.
 * Everything is allocated for the compute stream, so the allocator sees one stream.
 *
 * A checkpoint's input is offloaded in the same way, or by PyTorch's save_on_cpu: then the compute
 * stream does the copies itself, so nothing is kept during a copy and nothing is fetched early.
 */
#include "torch/treatments/offload.h"

#include <string.h>

#include "core/trace/build.h"
#include "torch/autograd/work.h"

/* ---- offload share ---- */

bool ms_offload_share_takes(ms_offload_share *share, uint64_t bytes)
{
    share->seen_bytes += bytes;
    uint64_t whole = share->total_bytes ? share->total_bytes : share->seen_bytes;
    if ((double)(share->sent_bytes + bytes) > share->ratio * (double)whole)
        return false;
    share->sent_bytes += bytes;
    return true;
}

void ms_offload_share_end_pass(ms_offload_share *share)
{
    if (share->seen_bytes == 0)
        return; /* an evaluation saves nothing */
    if (share->total_bytes == 0)
        share->total_bytes = share->seen_bytes;
    share->last_sent_bytes = share->sent_bytes;
    share->seen_bytes = share->sent_bytes = 0;
}

/* ---- offload ---- */

enum { LEAST_BYTES = 1024 };

/* A saved storage that went to the host. */
typedef struct sent_piece {
    uint32_t storage;   /* on the device; held until its layer is released, then MS_NONE */
    uint32_t shape_of;  /* the same storage, for its shape, after it has gone */
    ms_tensor returned; /* what came back; held until the last slot has taken it */
    uint32_t slots;     /* saved slots that have not taken it yet */
    uint32_t layer;
    uint32_t copy_out, copy_in;
    bool is_back, is_waited_for;
} sent_piece;

/* A saved slot whose storage went to the host. */
typedef struct sent_slot {
    uint32_t piece;
    uint32_t leaf; /* as the tensor's that was saved */
    bool requires_grad;
    ms_shape shape;
    uint64_t strides[MS_MAX_RANK];
} sent_slot;

/* One layer's saved tensors on their way to the host and back. */
typedef struct sent_layer {
    uint32_t layer;
    uint32_t first_piece, piece_count;
    bool is_released;
} sent_layer;

/* Whether a storage that the running layer saved goes to the host. */
typedef struct sent_choice {
    uint32_t storage;
    uint32_t piece; /* MS_NONE: it stays */
} sent_choice;

typedef struct offloads {
    ms_vec(sent_layer) layers; /* of the running micro-step, in order */
    uint32_t next_return;      /* of these, how many have not come back yet */
    ms_vec(sent_piece) pieces;
    ms_vec(sent_slot) slots;
    uint64_t host_bytes, host_peak_bytes;
    /* Of the layer that runs: */
    ms_vec(sent_choice) choices;
    uint32_t first_storage;      /* what was there before stays */
    const ms_offload_tags *tags; /* NULL: the layer has a share of its own */
    ms_offload_share own;
    ms_offload_share of_tags[MS_MOST_OFFLOAD_TAGS];
} offloads;

static void install(ms_tape *tape, void *state);
static ms_tensor unpack(ms_tape *tape, void *context, uint32_t number, uint32_t slot);
static void forget(ms_tape *tape, void *context, uint32_t number, uint32_t slot);

static void drop_graph(void *state)
{
    offloads *all = state;
    all->layers.count = all->pieces.count = all->slots.count = 0;
    all->next_return = 0;
    for (int i = 0; i < MS_MOST_OFFLOAD_TAGS; i++)
        ms_offload_share_end_pass(&all->of_tags[i]);
}

static void free_state(void *state)
{
    offloads *all = state;
    ms_vec_free(&all->layers);
    ms_vec_free(&all->pieces);
    ms_vec_free(&all->slots);
    ms_vec_free(&all->choices);
}

static const ms_state_kind kind = {
    .bytes = sizeof(offloads), .install = install, .drop_graph = drop_graph, .free = free_state};

uint64_t ms_offload_host_peak_bytes(const ms_tape *tape)
{
    const offloads *all = ms_hooks_find_state(tape, &kind);
    return all ? all->host_peak_bytes : 0;
}

ms_offload_bytes ms_offload_bytes_of_tag(const ms_tape *tape, uint32_t tag)
{
    const offloads *all = ms_hooks_find_state(tape, &kind);
    if (!all)
        return (ms_offload_bytes){0};
    return (ms_offload_bytes){all->of_tags[tag].total_bytes, all->of_tags[tag].last_sent_bytes};
}

/* ---- going ---- */

static bool is_candidate(const ms_tape *tape, const offloads *all, uint32_t storage)
{
    const ms_storage *row = &tape->trace->storages.items[storage];
    return storage >= all->first_storage && row->bytes >= LEAST_BYTES &&
           row->category != MS_CATEGORY_WEIGHT && row->category != MS_CATEGORY_BUFFER;
}

/* Starts the copy; nothing holds the storage yet. */
static uint32_t add_piece(ms_tape *tape, offloads *all, uint32_t storage)
{
    uint32_t layer = ms_scope_layer(tape, tape->module);
    uint64_t bytes = tape->trace->storages.items[storage].bytes;
    sent_piece piece = {.storage = MS_NONE, .shape_of = storage, .layer = layer};
    ms_work copy = ms_work_of(MS_WORK_TO_HOST, bytes);
    copy.source = storage;
    copy.layer = layer;
    piece.copy_out = ms_work_begin(tape, copy);
    uint32_t index = all->pieces.count;
    if (!ms_vec_push(&all->pieces, piece)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return MS_NONE;
    }
    all->host_bytes += bytes;
    if (all->host_bytes > all->host_peak_bytes)
        all->host_peak_bytes = all->host_bytes;
    return index;
}

/* A piece of the last offload, which holds it until its release. */
static uint32_t send(ms_tape *tape, offloads *all, uint32_t storage)
{
    uint32_t index = add_piece(tape, all, storage);
    if (index == MS_NONE)
        return MS_NONE;
    ms_storage_retain(tape, storage);
    all->pieces.items[index].storage = storage;
    all->layers.items[all->layers.count - 1].piece_count++;
    return index;
}

/* The child of the running layer in which the tape is. */
static ms_offload_part part_of(const ms_tape *tape)
{
    const ms_trace *trace = tape->trace;
    uint32_t scope = tape->scope, child = MS_NONE;
    for (; scope != MS_NONE && scope != tape->module; scope = trace->scopes.items[scope].parent)
        child = scope;
    return child == MS_NONE || scope == MS_NONE
               ? MS_OFFLOAD_OTHER
               : ms_offload_part_of(trace->names.items[trace->scopes.items[child].name]);
}

/* The share that decides about what is saved now; NULL: it stays. */
static ms_offload_share *share_of(const ms_tape *tape, offloads *all)
{
    if (!all->tags)
        return &all->own;
    uint32_t layer = ms_scope_layer(tape, tape->module);
    uint32_t tag = ms_offload_tags_find(all->tags, part_of(tape), layer);
    if (tag == all->tags->count)
        return NULL;
    all->of_tags[tag].ratio = all->tags->items[tag].ratio;
    return &all->of_tags[tag];
}

/* The piece of a storage, or MS_NONE when it stays. */
static uint32_t choose(ms_tape *tape, offloads *all, uint32_t storage)
{
    for (uint32_t i = 0; i < all->choices.count; i++)
        if (all->choices.items[i].storage == storage)
            return all->choices.items[i].piece;
    sent_choice choice = {storage, MS_NONE};
    if (is_candidate(tape, all, storage)) {
        ms_offload_share *share = share_of(tape, all);
        if (share && ms_offload_share_takes(share, tape->trace->storages.items[storage].bytes))
            choice.piece = send(tape, all, storage);
    }
    if (!ms_vec_push(&all->choices, choice))
        ms_tape_fail(tape, MS_ERR_NOMEM);
    return choice.piece;
}

static bool add_slot(ms_tape *tape, offloads *all, ms_tensor tensor, uint32_t piece, uint32_t *slot)
{
    const ms_tensor_info *info = ms_info(tape, tensor);
    sent_slot row = {.piece = piece,
                     .leaf = info->leaf,
                     .requires_grad = info->requires_grad,
                     .shape = info->shape};
    if (piece == MS_NONE)
        return false;
    memcpy(row.strides, info->strides, sizeof row.strides);
    *slot = all->slots.count;
    if (!ms_vec_push(&all->slots, row)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return false;
    }
    all->pieces.items[piece].slots++;
    return true;
}

/* While a layer runs: a saved tensor goes, or stays as it is. */
static bool pack(ms_tape *tape, void *context, uint32_t number, ms_tensor tensor, uint32_t *packed)
{
    offloads *all = context;
    (void)number;
    uint32_t storage = ms_info(tape, tensor)->storage;
    ms_mark_saved(tape, tensor);
    return add_slot(tape, all, tensor, choose(tape, all, storage), packed);
}

static bool open_offload(ms_tape *tape, offloads *all, uint64_t layer)
{
    sent_layer offload = {.layer = (uint32_t)layer, .first_piece = all->pieces.count};
    if (!ms_vec_push(&all->layers, offload)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return false;
    }
    all->next_return = all->layers.count;
    return true;
}

bool ms_offload_input(ms_tape *tape, uint64_t layer, ms_tensor input, uint32_t *slot)
{
    offloads *all = ms_hooks_state(tape, &kind);
    uint32_t storage = ms_info(tape, input)->storage;
    return all && tape->trace->storages.items[storage].bytes >= LEAST_BYTES &&
           open_offload(tape, all, layer) &&
           add_slot(tape, all, input, send(tape, all, storage), slot);
}

bool ms_save_on_cpu(ms_tape *tape, ms_tensor tensor, uint32_t *slot)
{
    offloads *all = ms_hooks_state(tape, &kind);
    if (!all)
        return false;
    uint32_t piece = add_piece(tape, all, ms_info(tape, tensor)->storage);
    if (piece != MS_NONE)
        ms_work_wait(tape, all->pieces.items[piece].copy_out);
    return add_slot(tape, all, tensor, piece, slot);
}

static ms_tensor run_region(ms_tape *tape, const ms_region *region, ms_tensor input, double share,
                            const ms_offload_tags *tags)
{
    if (ms_idle(tape) || !input || !tape->grad_enabled)
        return region->run(tape, region->context, region->number, input);
    offloads *all = ms_hooks_state(tape, &kind);
    if (!all || !open_offload(tape, all, region->number))
        return 0;
    all->choices.count = 0;
    all->first_storage = tape->trace->storages.count;
    all->tags = tags;
    all->own = (ms_offload_share){.ratio = share};
    ms_hooks_push_saved(
        tape, (ms_saved_hooks){.pack = pack, .unpack = unpack, .forget = forget, .context = all});
    ms_tensor result = region->run(tape, region->context, region->number, input);
    ms_hooks_pop_saved(tape);
    return result;
}

ms_tensor ms_offload_run(ms_tape *tape, const ms_region *region, ms_tensor input, double share)
{
    return run_region(tape, region, input, share, NULL);
}

ms_tensor ms_offload_run_tags(ms_tape *tape, const ms_region *region, ms_tensor input,
                              const ms_offload_tags *tags)
{
    return run_region(tape, region, input, 0, tags);
}

static void release(ms_tape *tape, offloads *all, sent_layer *offload)
{
    offload->is_released = true;
    for (uint32_t i = 0; i < offload->piece_count; i++)
        ms_work_wait(tape, all->pieces.items[offload->first_piece + i].copy_out);
    for (uint32_t i = 0; i < offload->piece_count; i++) {
        sent_piece *piece = &all->pieces.items[offload->first_piece + i];
        ms_storage_release(tape, piece->storage);
        piece->storage = MS_NONE;
    }
}

/* A layer has run: what earlier layers sent leaves the device. */
static void after_forward(ms_tape *tape, void *context, uint32_t scope)
{
    offloads *all = context;
    if (scope == MS_NONE)
        return;
    uint32_t number = ms_scope_layer(tape, scope);
    for (uint32_t i = all->layers.count; i-- > 0 && !all->layers.items[i].is_released;)
        if (all->layers.items[i].layer < number)
            release(tape, all, &all->layers.items[i]);
}

/* ---- coming back ---- */

static void fetch(ms_tape *tape, offloads *all, sent_piece *piece)
{
    ms_trace *trace = tape->trace;
    const ms_storage from = trace->storages.items[piece->shape_of];
    ms_shape shape = {.rank = from.rank};
    for (uint32_t i = 0; i < from.rank; i++)
        shape.dims[i] =
            (ms_dim){trace->symbols.table.items[from.symbols[i]].value, from.symbols[i]};
    piece->is_back = true;
    piece->returned = ms_empty(tape, shape, (ms_dtype)from.dtype);
    if (!piece->returned)
        return;
    ms_retain(tape, piece->returned);
    ms_work copy = ms_work_of(MS_WORK_TO_DEVICE, from.bytes);
    copy.target = ms_info(tape, piece->returned)->storage;
    copy.layer = piece->layer;
    ms_trace_label(trace, copy.target, from.name, from.scope);
    ms_trace_categorize(trace, copy.target, MS_CATEGORY_ACTIVATION);
    ms_trace_save(trace, copy.target);
    ms_trace_identify(trace, copy.target, piece->shape_of);
    piece->copy_in = ms_work_begin(tape, copy);
    all->host_bytes -= from.bytes;
}

/* Backward comes to a layer: what the one below sent comes back meanwhile. */
static void before_backward(ms_tape *tape, void *context, uint32_t scope)
{
    offloads *all = context;
    if (all->next_return == 0)
        return;
    const sent_layer *offload = &all->layers.items[all->next_return - 1];
    if (offload->layer + 1 != ms_scope_layer(tape, scope))
        return;
    all->next_return--;
    for (uint32_t i = offload->piece_count; i-- > 0 && !ms_idle(tape);) {
        sent_piece *piece = &all->pieces.items[offload->first_piece + i];
        if (!piece->is_back)
            fetch(tape, all, piece);
    }
}

static void install(ms_tape *tape, void *state)
{
    ms_hooks_push_module(tape, (ms_module_hooks){.after_forward = after_forward,
                                                 .before_backward = before_backward,
                                                 .context = state});
}

static ms_tensor unpack(ms_tape *tape, void *context, uint32_t number, uint32_t slot)
{
    offloads *all = context;
    (void)number;
    const sent_slot *row = &all->slots.items[slot];
    sent_piece *piece = &all->pieces.items[row->piece];
    if (!piece->is_back)
        fetch(tape, all, piece);
    if (ms_idle(tape))
        return 0;
    if (!piece->is_waited_for)
        ms_work_wait(tape, piece->copy_in);
    piece->is_waited_for = true;
    ms_tensor tensor = ms_alias(tape, piece->returned, row->shape, row->strides);
    ms_retain(tape, tensor);
    if (tensor) {
        ms_info(tape, tensor)->leaf = row->leaf;
        ms_info(tape, tensor)->requires_grad = row->requires_grad;
    }
    if (--piece->slots == 0) {
        ms_release(tape, piece->returned);
        piece->returned = 0;
    }
    return tensor;
}

/* The last slot of a piece takes what is on the host with it. */
static void forget(ms_tape *tape, void *context, uint32_t number, uint32_t slot)
{
    offloads *all = context;
    (void)number;
    sent_piece *piece = &all->pieces.items[all->slots.items[slot].piece];
    if (--piece->slots > 0)
        return;
    piece->is_back = true;
    all->host_bytes -= tape->trace->storages.items[piece->shape_of].bytes;
}

ms_tensor ms_offload_unpack(ms_tape *tape, uint32_t slot)
{
    return unpack(tape, ms_hooks_find_state(tape, &kind), 0, slot);
}
