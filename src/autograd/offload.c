/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Offload: while a layer's forward runs, saved tensors are copied to pinned memory of the host, on
 * a stream of its own. They leave the device when the next layer has run; they come back while
 * backward runs the layer above. The compute stream waits for a copy at these two points only.
 *
 * A storage goes when the layer made it, it has at least LEAST_BYTES, and with it no more than the
 * given share of the bytes seen so far have gone; the first slot that saves it decides. Everything
 * is allocated for the compute stream, so the allocator sees one stream.
 *
 * A checkpoint's input goes the same way, or as PyTorch's save_on_cpu sends it: then the compute
 * stream does the copies itself, nothing is held meanwhile, and nothing comes back early.
 */
#include "autograd/engine.h"

#include <string.h>

#include "trace/build.h"

enum { LEAST_BYTES = 1024 };

uint32_t ms_work_begin(ms_tape *tape, ms_work work)
{
    uint32_t index = ms_trace_add_work(tape->trace, work);
    if (index != MS_NONE)
        return index;
    ms_tape_fail(tape, MS_ERR_NOMEM);
    return 0;
}

void ms_work_wait(ms_tape *tape, uint32_t work)
{
    if (ms_trace_add_wait(tape->trace, MS_STREAM_OPERATORS, work) == MS_NONE)
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

/* ---- going ---- */

static bool is_candidate(const ms_tape *tape, uint32_t storage)
{
    const ms_storage *row = &tape->trace->storages.items[storage];
    return storage >= tape->offloading.first_storage && row->bytes >= LEAST_BYTES &&
           row->category != MS_CATEGORY_WEIGHT && row->category != MS_CATEGORY_BUFFER;
}

/* Starts the copy; nothing holds the storage yet. */
static uint32_t add_piece(ms_tape *tape, uint32_t storage)
{
    uint64_t bytes = tape->trace->storages.items[storage].bytes;
    ms_sent_piece piece = {.storage = MS_NONE, .shape_of = storage, .layer = tape->layer};
    ms_work copy = ms_work_of(MS_WORK_TO_HOST, bytes);
    copy.source = storage;
    copy.layer = tape->layer;
    piece.copy_out = ms_work_begin(tape, copy);
    uint32_t index = tape->sent_pieces.count;
    if (!ms_vec_push(&tape->sent_pieces, piece)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return MS_NONE;
    }
    tape->host_bytes += bytes;
    if (tape->host_bytes > tape->host_peak_bytes)
        tape->host_peak_bytes = tape->host_bytes;
    return index;
}

/* A piece of the last offload, which holds it until its release. */
static uint32_t send(ms_tape *tape, uint32_t storage)
{
    uint32_t index = add_piece(tape, storage);
    if (index == MS_NONE)
        return MS_NONE;
    ms_storage_retain(tape, storage);
    tape->sent_pieces.items[index].storage = storage;
    tape->offloads.items[tape->offloads.count - 1].piece_count++;
    return index;
}

/* The piece of a storage, or MS_NONE when it stays. */
static uint32_t choose(ms_tape *tape, uint32_t storage)
{
    for (uint32_t i = 0; i < tape->sent_choices.count; i++)
        if (tape->sent_choices.items[i].storage == storage)
            return tape->sent_choices.items[i].piece;
    ms_sent_choice choice = {storage, MS_NONE};
    if (is_candidate(tape, storage)) {
        uint64_t bytes = tape->trace->storages.items[storage].bytes;
        tape->offloading.seen_bytes += bytes;
        if ((double)(tape->offloading.sent_bytes + bytes) <=
            tape->offloading.share * (double)tape->offloading.seen_bytes) {
            choice.piece = send(tape, storage);
            tape->offloading.sent_bytes += bytes;
        }
    }
    if (!ms_vec_push(&tape->sent_choices, choice))
        ms_tape_fail(tape, MS_ERR_NOMEM);
    return choice.piece;
}

static bool add_slot(ms_tape *tape, ms_tensor tensor, uint32_t piece, uint32_t *slot)
{
    const ms_tensor_info *info = ms_info(tape, tensor);
    ms_sent_slot row = {.piece = piece,
                        .leaf = info->leaf,
                        .requires_grad = info->requires_grad,
                        .shape = info->shape};
    if (piece == MS_NONE)
        return false;
    memcpy(row.strides, info->strides, sizeof row.strides);
    *slot = tape->sent_slots.count;
    if (!ms_vec_push(&tape->sent_slots, row)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return false;
    }
    tape->sent_pieces.items[piece].slots++;
    return true;
}

bool ms_offload_save(ms_tape *tape, ms_tensor tensor, uint32_t *slot)
{
    return add_slot(tape, tensor, choose(tape, ms_info(tape, tensor)->storage), slot);
}

static bool open_offload(ms_tape *tape, uint64_t layer)
{
    ms_offload offload = {.layer = (uint32_t)layer, .first_piece = tape->sent_pieces.count};
    if (!ms_vec_push(&tape->offloads, offload)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return false;
    }
    tape->next_return = tape->offloads.count;
    return true;
}

bool ms_offload_input(ms_tape *tape, uint64_t layer, ms_tensor input, uint32_t *slot)
{
    uint32_t storage = ms_info(tape, input)->storage;
    return tape->trace->storages.items[storage].bytes >= LEAST_BYTES && open_offload(tape, layer) &&
           add_slot(tape, input, send(tape, storage), slot);
}

bool ms_save_on_cpu(ms_tape *tape, ms_tensor tensor, uint32_t *slot)
{
    uint32_t piece = add_piece(tape, ms_info(tape, tensor)->storage);
    if (piece != MS_NONE)
        ms_work_wait(tape, tape->sent_pieces.items[piece].copy_out);
    return add_slot(tape, tensor, piece, slot);
}

ms_tensor ms_offload_run(ms_tape *tape, const ms_region *region, ms_tensor input, double share)
{
    if (ms_idle(tape) || !input || !tape->grad_enabled)
        return region->run(tape, region->context, region->number, input);
    if (!open_offload(tape, region->number))
        return 0;
    tape->sent_choices.count = 0;
    tape->offloading.first_storage = tape->trace->storages.count;
    tape->offloading.share = share;
    tape->offloading.seen_bytes = tape->offloading.sent_bytes = 0;
    tape->offloading.is_open = true;
    ms_tensor result = region->run(tape, region->context, region->number, input);
    tape->offloading.is_open = false;
    return result;
}

static void release(ms_tape *tape, ms_offload *offload)
{
    offload->is_released = true;
    for (uint32_t i = 0; i < offload->piece_count; i++)
        ms_work_wait(tape, tape->sent_pieces.items[offload->first_piece + i].copy_out);
    for (uint32_t i = 0; i < offload->piece_count; i++) {
        ms_sent_piece *piece = &tape->sent_pieces.items[offload->first_piece + i];
        ms_storage_release(tape, piece->storage);
        piece->storage = MS_NONE;
    }
}

void ms_offload_release(ms_tape *tape, uint32_t number)
{
    for (uint32_t i = tape->offloads.count; i-- > 0 && !tape->offloads.items[i].is_released;)
        if (tape->offloads.items[i].layer < number)
            release(tape, &tape->offloads.items[i]);
}

/* ---- coming back ---- */

static void fetch(ms_tape *tape, ms_sent_piece *piece)
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
    tape->host_bytes -= from.bytes;
}

void ms_offload_fetch(ms_tape *tape, uint32_t layer)
{
    if (tape->next_return == 0)
        return;
    const ms_offload *offload = &tape->offloads.items[tape->next_return - 1];
    if (offload->layer != layer)
        return;
    tape->next_return--;
    for (uint32_t i = offload->piece_count; i-- > 0 && !ms_idle(tape);)
        fetch(tape, &tape->sent_pieces.items[offload->first_piece + i]);
}

ms_tensor ms_offload_unpack(ms_tape *tape, uint32_t slot)
{
    const ms_sent_slot *row = &tape->sent_slots.items[slot];
    ms_sent_piece *piece = &tape->sent_pieces.items[row->piece];
    if (!piece->is_back)
        fetch(tape, piece);
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
