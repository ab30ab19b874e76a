/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Causal attention in tiles of the queries: a tile uses the keys up to its own end. Forward runs
 * the tiles without a graph; queries, keys, values and the mask are saved. Backward recomputes each
 * tile and runs its backward before the next one. The last tile is first, because it is the
 * largest.
 */
#include "torch/treatments/tile_attention.h"

#include "torch/autograd/engine.h"
#include "torch/autograd/graph.h"

enum { QUERY, KEY, VALUE, INPUTS, MASK = INPUTS };

typedef struct tiles {
    ms_vec(ms_tiled_attention) attentions; /* of the graph */
} tiles;

static void drop_graph(void *state)
{
    ((tiles *)state)->attentions.count = 0;
}

static void free_state(void *state)
{
    ms_vec_free(&((tiles *)state)->attentions);
}

static const ms_state_kind kind = {
    .bytes = sizeof(tiles), .drop_graph = drop_graph, .free = free_state};

typedef struct piece {
    ms_dim rows, keys;
} piece;

static ms_dim number(ms_tape *tape, uint64_t value)
{
    return ms_dim_number(&tape->trace->symbols, value);
}

/* The piece that ends with query `end`, of pieces that have at most `most` but for the last. */
static piece piece_before(ms_tape *tape, uint64_t end, uint64_t most)
{
    uint64_t rows = end % most ? end % most : most;
    return (piece){number(tape, rows), number(tape, end)};
}

/* `tensor` with `length` in dimension `dim`; where the slice begins makes no difference. */
static ms_tensor slice(ms_tape *tape, ms_tensor tensor, uint32_t dim, ms_dim length)
{
    if (ms_idle(tape) || !tensor)
        return 0;
    ms_tensor_info info = *ms_info(tape, tensor);
    info.shape.dims[dim] = length;
    return ms_alias(tape, tensor, info.shape, info.strides);
}

/* The mask's rows, or ones -> tril where there is none. */
static ms_tensor mask_of(ms_tape *tape, ms_tensor mask, piece p)
{
    if (mask) {
        ms_tensor rows = slice(tape, mask, 2, p.rows);
        ms_tensor result = slice(tape, rows, 3, p.keys);
        ms_consume(tape, rows);
        return result;
    }
    ms_shape shape = MS_SHAPE(number(tape, 1), number(tape, 1), p.rows, p.keys);
    ms_tensor ones = ms_empty(tape, shape, MS_DTYPE_BOOL);
    ms_tensor lower = ms_empty(tape, shape, MS_DTYPE_BOOL);
    ms_consume(tape, ones);
    return lower;
}

/* The function of one piece; the mask goes when its result is there. */
static ms_tensor call(ms_tape *tape, const ms_tiled_attention *attention, const ms_tensor *inputs,
                      ms_tensor mask, piece p)
{
    ms_tensor rows = mask_of(tape, mask, p);
    ms_retain(tape, rows);
    ms_tensor out =
        attention->run(tape, attention, inputs[QUERY], inputs[KEY], inputs[VALUE], rows);
    ms_retain(tape, out);
    ms_release(tape, rows);
    return out;
}

static void hold_piece(ms_tape *tape, const ms_tensor *whole, piece p, ms_tensor *inputs)
{
    for (uint32_t i = 0; i < INPUTS; i++) {
        inputs[i] = slice(tape, whole[i], 2, i == QUERY ? p.rows : p.keys);
        ms_retain(tape, inputs[i]);
    }
}

static const ms_op copy_op = {.name = "copy_"}, add_op = {.name = "add_"};

/* Copies or adds a piece to a part of a whole tensor. */
static void put(ms_tape *tape, const ms_op *op, ms_tensor from, ms_tensor whole, uint32_t dim)
{
    if (ms_idle(tape) || !from || !whole)
        return;
    ms_tensor to = slice(tape, whole, dim, ms_info(tape, from)->shape.dims[dim]);
    ms_op_mark mark = ms_op_begin(tape, op);
    ms_op_operand(tape, mark, from, false);
    ms_op_operand(tape, mark, to, true);
    ms_op_end(tape, mark);
    ms_consume(tape, to);
}

/* ---- forward ---- */

static ms_tensor run_pieces(ms_tape *tape, const ms_tiled_attention *attention,
                            const ms_tensor *whole, ms_tensor mask)
{
    ms_dim queries = ms_info(tape, whole[QUERY])->shape.dims[2];
    uint64_t most = (queries.value + attention->pieces - 1) / attention->pieces;
    ms_tensor out = 0;
    for (uint64_t end = queries.value; end > 0 && !ms_idle(tape);) {
        piece p = piece_before(tape, end, most);
        ms_tensor inputs[INPUTS];
        hold_piece(tape, whole, p, inputs);
        ms_tensor result = call(tape, attention, inputs, mask, p);
        if (!out && !ms_idle(tape)) {
            ms_tensor_info info = *ms_info(tape, result);
            info.shape.dims[1] = queries;
            out = ms_empty(tape, info.shape, (ms_dtype)info.dtype);
        }
        put(tape, &copy_op, result, out, 1);
        ms_release(tape, result);
        for (uint32_t i = 0; i < INPUTS; i++)
            ms_release(tape, inputs[i]);
        end -= p.rows.value;
    }
    return out;
}

/* ---- backward ---- */

/* Runs a piece forward and backward; the gradients of its inputs are held in `out`. Yields its
 * result, held. */
static ms_tensor run_again(ms_tape *tape, const ms_tiled_attention *attention,
                           const ms_tensor *whole, ms_tensor mask, piece p, ms_tensor grad,
                           ms_tensor *out)
{
    ms_graph_end end = ms_graph_end_of(tape);
    uint32_t leaf = tape->parameters.count;
    ms_tensor inputs[INPUTS];
    for (uint32_t i = 0; i < INPUTS; i++) {
        out[i] = 0;
        inputs[i] = slice(tape, whole[i], 2, i == QUERY ? p.rows : p.keys);
        uint32_t added = ms_leaf_add(tape, inputs[i]);
        if (added < tape->parameters.count)
            tape->parameters.items[added].is_captured = true;
    }
    ms_rerun_mode mode = ms_rerun_begin(tape);
    ms_tensor result = call(tape, attention, inputs, mask, p);
    ms_rerun_end(tape, mode);
    ms_backward(tape, result, grad);
    for (uint32_t i = 0; i < INPUTS && leaf + i < tape->parameters.count; i++) {
        out[i] = tape->parameters.items[leaf + i].grad;
        ms_release(tape, inputs[i]);
    }
    tape->parameters.count = leaf;
    ms_graph_cut(tape, end);
    return result;
}

static void tiled_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const tiles *all = ms_hooks_find_state(tape, &kind);
    const ms_tiled_attention attention = all->attentions.items[node->numbers[0]];
    const ms_tensor *whole = node->saved;
    ms_tensor mask = node->saved_count > MASK ? node->saved[MASK] : 0;
    const ms_tensor_info query = *ms_info(tape, whole[QUERY]);
    uint64_t most = (query.shape.dims[2].value + attention.pieces - 1) / attention.pieces;
    out[QUERY] = ms_empty_like(tape, whole[QUERY], (ms_dtype)query.dtype);
    ms_tensor random_state = ms_host_random_state(tape);
    for (uint64_t end = query.shape.dims[2].value; end > 0 && !ms_idle(tape);) {
        piece p = piece_before(tape, end, most);
        ms_tensor got[INPUTS];
        ms_tensor result =
            run_again(tape, &attention, whole, mask, p, slice(tape, grads[0], 1, p.rows), got);
        put(tape, &copy_op, got[QUERY], out[QUERY], 2);
        for (uint32_t i = KEY; i < INPUTS; i++) {
            put(tape, &add_op, got[i], out[i], 2);
            if (!out[i]) {
                out[i] = got[i];
                got[i] = 0;
            }
        }
        ms_release(tape, result);
        for (uint32_t i = 0; i < INPUTS; i++)
            ms_release(tape, got[i]);
        end -= p.rows.value;
    }
    for (uint32_t i = KEY; i < INPUTS; i++)
        ms_unown(tape, out[i]);
    ms_release(tape, random_state);
}

static const ms_op tiled_op = {NULL, "TiledAttentionBackward", tiled_backward};

ms_tensor ms_tiled_attention_run(ms_tape *tape, ms_tiled_attention attention, ms_tensor query,
                                 ms_tensor key, ms_tensor value, ms_tensor mask)
{
    if (ms_idle(tape) || !query || !key || !value)
        return 0;
    tiles *all = ms_hooks_state(tape, &kind);
    if (!all)
        return 0;
    const ms_tensor whole[INPUTS] = {query, key, value};
    uint64_t index = all->attentions.count;
    uint32_t node = ms_record(tape, &tiled_op, INPUTS, whole);
    if (!ms_vec_push(&all->attentions, attention)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        return 0;
    }
    ms_node_numbers(tape, node, 1, &index);
    ms_tensor random_state = ms_host_random_state(tape);
    if (node != MS_NONE)
        ms_graph_hold(tape, random_state);
    bool had_grad = tape->grad_enabled;
    tape->grad_enabled = false;
    ms_tensor out = run_pieces(tape, &attention, whole, mask);
    tape->grad_enabled = had_grad;
    ms_release(tape, random_state);
    for (uint32_t i = 0; i < INPUTS; i++)
        ms_save(tape, node, whole[i]);
    ms_save(tape, node, mask);
    ms_attach(tape, node, 1, &out);
    if (!tape->stopped)
        return out;
    ms_consume(tape, out);
    return 0;
}
