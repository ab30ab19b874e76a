/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Liger's mixture of experts (liger-kernel 0.8): all experts, their activation and the sum per
 * token in one function. Rows are sorted by expert through index lists, and multiplied in tiles of
 * 64 rows, whose number depends on the routing.
 */
#include "torch/ops/liger/liger_experts.h"

#include "torch/ops/liger/liger.h"

#include "input/config/run/experts.h"

enum { HIDDEN, GATE_UP, DOWN, WEIGHTS, INPUTS };

static ms_dtype dtype_of(ms_tape *tape, ms_tensor a)
{
    return (ms_dtype)ms_info(tape, a)->dtype;
}

static ms_tensor list_of(ms_tape *tape, uint64_t count)
{
    return ms_empty(tape, MS_SHAPE(ms_dim_number(&tape->trace->symbols, count)), MS_DTYPE_I32);
}

static uint64_t tile_count(ms_tape *tape, uint64_t tokens, uint64_t each, uint64_t experts)
{
    enum { TILE_ROWS = 64 };
    uint64_t tiles = 0;
    for (uint64_t i = 0; i < experts; i++)
        tiles += (ms_expert_rows((ms_routing_kind)tape->options.routing, tokens, each, experts, i) +
                  TILE_ROWS - 1) /
                 TILE_ROWS;
    return tiles;
}

/* Blocks of tokens that the histogram is made of. */
static uint64_t block_count(uint64_t tokens, uint64_t each)
{
    enum { BLOCK_SLOTS = 1024 };
    uint64_t power = 1;
    while (power < each)
        power *= 2;
    uint64_t block = power < BLOCK_SLOTS ? BLOCK_SLOTS / power : 1;
    return (tokens + block - 1) / block;
}

/* The lists that lead from tokens to rows and tiles; backward wants `kept`, in the order of the
 * saved tensors, and `counts` stays until forward is over. */
typedef struct lists {
    ms_tensor counts, kept[6];
} lists;

static lists make_lists(ms_tape *tape, uint64_t tokens, uint64_t each, uint64_t experts)
{
    lists l = {0};
    ms_tensor blocks = list_of(tape, experts * block_count(tokens, each));
    l.counts = list_of(tape, experts);
    l.kept[0] = list_of(tape, experts + 1);
    ms_tensor tile_offsets = list_of(tape, experts + 1);
    uint64_t tiles = tile_count(tape, tokens, each, experts);
    l.kept[4] = list_of(tape, tiles);
    l.kept[5] = list_of(tape, tiles);
    l.kept[2] = list_of(tape, tokens * each);
    l.kept[3] = list_of(tape, tokens * each);
    l.kept[1] = list_of(tape, tokens * each);
    ms_consume(tape, blocks);
    ms_consume(tape, tile_offsets);
    return l;
}

static void experts_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    if (ms_idle(tape) || !grads[0])
        return;
    ms_dtype dtype = dtype_of(tape, grads[0]);
    ms_tensor copy = ms_contiguous_copy(tape, grads[0]);
    const ms_shape hidden = ms_input_meta(tape, node, HIDDEN)->shape;
    const ms_meta gate_up = *ms_input_meta(tape, node, GATE_UP);
    const ms_meta down = *ms_input_meta(tape, node, DOWN);
    const ms_meta weights = *ms_input_meta(tape, node, WEIGHTS);
    ms_symbols *s = &tape->trace->symbols;
    ms_dim rows = ms_dim_mul(s, weights.shape.dims[0], weights.shape.dims[1]);
    ms_tensor before = ms_empty(tape, MS_SHAPE(rows, gate_up.shape.dims[1]), dtype);
    ms_tensor weighted = ms_empty(tape, MS_SHAPE(rows, down.shape.dims[2]), dtype);
    ms_tensor scores = ms_empty(tape, weights.shape, dtype);
    ms_tensor down_grad = ms_empty(tape, down.shape, (ms_dtype)down.dtype);
    ms_tensor expanded = ms_empty(tape, MS_SHAPE(rows, hidden.dims[1]), dtype);
    ms_tensor hidden_grad = ms_empty(tape, hidden, dtype);
    ms_tensor gate_up_grad = ms_empty(tape, gate_up.shape, (ms_dtype)gate_up.dtype);
    const ms_tensor made[INPUTS] = {hidden_grad, gate_up_grad, down_grad, scores};
    for (uint32_t i = 0; i < INPUTS; i++)
        if (ms_node_wants(node, i))
            out[i] = made[i];
    ms_consume(tape, before);
    ms_consume(tape, weighted);
    ms_consume(tape, expanded);
    for (uint32_t i = 0; i < INPUTS; i++)
        if (!ms_node_wants(node, i))
            ms_consume(tape, made[i]);
    ms_consume(tape, copy);
}

static const ms_op experts_op = {"liger_fused_moe", "LigerFusedMoEFunctionBackward",
                                 experts_backward};

/* What the function saves, in its order. */
static void save(ms_tape *tape, uint32_t node, const ms_tensor *inputs, ms_tensor before,
                 const lists *l)
{
    ms_save(tape, node, inputs[HIDDEN]);
    ms_save(tape, node, inputs[GATE_UP]);
    ms_save(tape, node, inputs[DOWN]);
    ms_save(tape, node, before);
    ms_save(tape, node, inputs[WEIGHTS]);
    for (size_t i = 0; i < sizeof l->kept / sizeof l->kept[0]; i++)
        ms_save(tape, node, l->kept[i]);
}

ms_tensor ms_liger_experts(ms_tape *tape, ms_tensor hidden, ms_tensor gate_up, ms_tensor down,
                           ms_tensor weights)
{
    if (ms_idle(tape) || !hidden || !weights)
        return 0;
    const ms_tensor inputs[INPUTS] = {hidden, gate_up, down, weights};
    const ms_shape routed = ms_info(tape, weights)->shape, shape = ms_info(tape, hidden)->shape;
    ms_symbols *s = &tape->trace->symbols;
    ms_dim rows = ms_dim_mul(s, routed.dims[0], routed.dims[1]);
    ms_dtype dtype = dtype_of(tape, hidden);
    /* The experts of tokens as 32-bit numbers, a local of the module. */
    ms_tensor ids = ms_empty(tape, routed, MS_DTYPE_I32);
    ms_op_mark mark = ms_op_begin(tape, &experts_op);
    uint32_t node = ms_record(tape, &experts_op, INPUTS, inputs);
    lists l = make_lists(tape, routed.dims[0].value, routed.dims[1].value,
                         ms_info(tape, gate_up)->shape.dims[0].value);
    ms_tensor before = ms_empty(tape, MS_SHAPE(rows, ms_info(tape, gate_up)->shape.dims[1]), dtype);
    ms_tensor after = ms_empty(tape, MS_SHAPE(rows, ms_info(tape, down)->shape.dims[2]), dtype);
    ms_tensor by_row = ms_empty(tape, MS_SHAPE(rows, shape.dims[1]), dtype);
    ms_tensor out = ms_empty(tape, shape, dtype);
    save(tape, node, inputs, before, &l);
    ms_consume(tape, before);
    ms_consume(tape, after);
    ms_consume(tape, by_row);
    ms_consume(tape, l.counts);
    for (size_t i = 0; i < sizeof l.kept / sizeof l.kept[0]; i++)
        ms_consume(tape, l.kept[i]);
    double products = 3.0 * (double)ms_info(tape, down)->shape.dims[2].value;
    ms_op_work(tape, mark, 2 * products * (double)rows.value * (double)shape.dims[1].value, 0,
               dtype);
    out = ms_op_finish(tape, mark, node, INPUTS, inputs, out);
    ms_consume(tape, ids);
    return out;
}
