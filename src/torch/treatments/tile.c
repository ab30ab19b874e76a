/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A region run in tiles of its rows. Forward runs the tiles without a graph and concatenates the
 * results; only the input is saved. Backward recomputes each tile and runs its backward before the
 * next one; gradients of parameters are accumulated.
 */
#include "torch/treatments/tile.h"

#include <stdlib.h>

#include "torch/autograd/graph.h"
#include "torch/treatments/recompute.h"

/* ---- tile ---- */

enum { TILE_REGION, TILE_PIECES }; /* a node's numbers */

typedef struct tiles {
    ms_vec(ms_region) regions; /* of the graph */
} tiles;

static void drop_graph(void *state)
{
    ((tiles *)state)->regions.count = 0;
}

static void free_state(void *state)
{
    ms_vec_free(&((tiles *)state)->regions);
}

static const ms_state_kind kind = {
    .bytes = sizeof(tiles), .drop_graph = drop_graph, .free = free_state};

/* [.., H] as rows of H. */
static ms_shape rows_of(const ms_shape *shape)
{
    ms_dim rows = {.value = 1};
    for (uint32_t i = 0; i + 1 < shape->rank; i++)
        rows.value *= shape->dims[i].value;
    return MS_SHAPE(rows, shape->dims[shape->rank - 1]);
}

/* How many rows the pieces have but for the last. */
static uint64_t piece_rows(uint64_t rows, uint32_t pieces)
{
    return (rows + pieces - 1) / pieces;
}

/* The piece of `whole` (dense rows) that begins at row `first`. */
static ms_tensor piece_of(ms_tape *tape, ms_tensor whole, uint64_t first, uint64_t most)
{
    if (ms_idle(tape) || !whole)
        return 0;
    ms_shape shape = rows_of(&ms_info(tape, whole)->shape);
    uint64_t left = shape.dims[0].value - first;
    shape.dims[0] = ms_dim_number(&tape->trace->symbols, left < most ? left : most);
    return ms_alias(tape, whole, shape, (uint64_t[]){shape.dims[1].value, 1});
}

/* Runs the region over the rows from `first` on; the pieces' results are held in `parts`. */
static uint32_t run_pieces(ms_tape *tape, const ms_region *region, ms_tensor input, uint64_t most,
                           ms_tensor *parts)
{
    uint64_t rows = rows_of(&ms_info(tape, input)->shape).dims[0].value;
    uint32_t count = 0;
    for (uint64_t first = 0; first < rows && !ms_idle(tape); first += most) {
        ms_tensor piece = piece_of(tape, input, first, most);
        ms_retain(tape, piece);
        parts[count] = region->run(tape, region->context, region->number, piece);
        ms_retain(tape, parts[count++]);
        ms_release(tape, piece);
    }
    return count;
}

static const ms_op cat_op = {.name = "cat"};

/* cat(parts).view_as(input); the parts go last first. */
static ms_tensor join(ms_tape *tape, ms_tensor input, ms_tensor *parts, uint32_t count)
{
    ms_tensor out = 0;
    if (!ms_idle(tape)) {
        ms_op_mark mark = ms_op_begin(tape, &cat_op);
        out = ms_empty(tape, ms_info(tape, input)->shape, (ms_dtype)ms_info(tape, parts[0])->dtype);
        for (uint32_t i = 0; i < count; i++)
            ms_op_operand(tape, mark, parts[i], false);
        ms_op_operand(tape, mark, out, true);
        ms_op_end(tape, mark);
    }
    while (count)
        ms_release(tape, parts[--count]);
    return out;
}

static const ms_op copy_op = {.name = "copy_"};

static void copy_piece(ms_tape *tape, ms_tensor from, ms_tensor to)
{
    ms_op_mark mark = ms_op_begin(tape, &copy_op);
    ms_op_operand(tape, mark, from, false);
    ms_op_operand(tape, mark, to, true);
    ms_op_end(tape, mark);
    ms_consume(tape, from);
    ms_consume(tape, to);
}

static void tiled_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    const tiles *all = ms_hooks_find_state(tape, &kind);
    const ms_region region = all->regions.items[node->numbers[TILE_REGION]];
    ms_tensor input = node->saved[0];
    const ms_tensor_info info = *ms_info(tape, input);
    uint64_t rows = rows_of(&info.shape).dims[0].value;
    uint64_t most = piece_rows(rows, (uint32_t)node->numbers[TILE_PIECES]);
    ms_tensor result = ms_empty(tape, info.shape, (ms_dtype)info.dtype);
    ms_tensor random_state = ms_host_random_state(tape);
    ms_graph_end end = ms_graph_end_of(tape);
    for (uint64_t first = 0; first < rows && !ms_idle(tape); first += most) {
        ms_tensor piece = piece_of(tape, input, first, most);
        ms_tensor piece_grad = ms_rerun(tape, &region, piece, piece_of(tape, grads[0], first, most),
                                        MS_RERUN_KEEPS_CASTS);
        copy_piece(tape, piece_grad, piece_of(tape, result, first, most));
    }
    ms_autocast_clear(tape);
    ms_graph_cut(tape, end); /* not before: the pieces share the nodes of cast weights */
    ms_release(tape, random_state);
    out[0] = result;
}

static const ms_op tiled_op = {NULL, "TiledBackward", tiled_backward};

/* Runs the region on `pieces` tiles of the rows of `input`, [rows, H], without a graph. Backward
 * recomputes each tile and runs its backward. The region consumes its input. */
static ms_tensor tiled_run(ms_tape *tape, const ms_region *region, ms_tensor input, uint32_t pieces)
{
    if (ms_idle(tape) || !input)
        return 0;
    if (!tape->grad_enabled || !ms_info(tape, input)->requires_grad)
        return region->run(tape, region->context, region->number, input);
    tiles *all = ms_hooks_state(tape, &kind);
    if (!all)
        return 0;
    ms_tensor *parts = calloc(pieces, sizeof *parts);
    uint32_t index = all->regions.count, node = ms_record(tape, &tiled_op, 1, &input);
    if (!parts || !ms_vec_push(&all->regions, *region)) {
        ms_tape_fail(tape, MS_ERR_NOMEM);
        free(parts);
        return 0;
    }
    ms_node_numbers(tape, node, 2, (uint64_t[]){index, pieces});
    ms_tensor random_state = ms_host_random_state(tape);
    ms_graph_hold(tape, random_state);
    ms_release(tape, random_state);
    tape->grad_enabled = false;
    uint64_t rows = rows_of(&ms_info(tape, input)->shape).dims[0].value;
    uint32_t count = run_pieces(tape, region, input, piece_rows(rows, pieces), parts);
    tape->grad_enabled = true;
    ms_tensor out = join(tape, input, parts, count);
    free(parts);
    ms_save(tape, node, input);
    ms_attach(tape, node, 1, &out);
    if (!tape->stopped)
        return out;
    ms_consume(tape, out);
    return 0;
}

/* ---- parts ---- */

static ms_tensor run_tiles(ms_tape *tape, const ms_region *region, ms_tensor input, uint32_t pieces)
{
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *whole = ms_argument(&f, input);
    ms_tensor *out = ms_local(&f, tiled_run(tape, region, *whole, pieces));
    return ms_locals_end(&f, out);
}

ms_tensor ms_part_call(ms_tape *tape, const ms_treatment *treatment, ms_part_module module,
                       const ms_region *region, ms_tensor input)
{
    for (int i = 0; i < MS_PART_COUNT; i++) {
        const ms_part_row *row = ms_treatment_parts[i];
        if (treatment->parts[i] && row->module == module)
            return row->has_pieces ? run_tiles(tape, region, input, treatment->parts[i])
                                   : ms_checkpoint_run(tape, region, input);
    }
    return region->run(tape, region->context, region->number, input);
}
