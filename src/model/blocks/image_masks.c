/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/image_masks.h"

#include "model/blocks/packed/quantized.h"
#include "torch/ops/moe/rows.h"
#include "torch/ops/ops.h"

/* ---- which image ---- */

ms_tensor ms_image_blocks(ms_model *model, ms_tensor ids, bool or_videos)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    ms_shape tokens = MS_SHAPE(model->batch, model->seq);
    ms_dim longer = ms_dim_add(s, model->seq, ms_dim_number(s, 1));
    ms_locals f = ms_locals_begin(tape);
    ms_tensor videos = or_videos ? ms_compare(tape, ids, 0) : 0;
    ms_tensor images = ms_compare(tape, ids, 0);
    ms_local(&f, or_videos ? ms_compare(tape, videos, images) : images);
    ms_local(&f, ms_empty(tape, or_videos ? tokens : MS_SHAPE(model->batch, longer),
                          MS_DTYPE_BOOL)); /* the previous */
    ms_tensor other = ms_empty(tape, tokens, MS_DTYPE_BOOL);
    ms_tensor *starts = ms_local(&f, ms_empty(tape, tokens, MS_DTYPE_BOOL));
    ms_consume(tape, other);
    ms_tensor numbers = ms_to(tape, *starts, MS_DTYPE_I32);
    ms_retain(tape, numbers);
    ms_tensor sums = ms_cumsum_last(tape, numbers);
    ms_release(tape, numbers);
    ms_local(&f, ms_add_scalar(tape, sums));
    ms_tensor text = ms_empty_bytes(tape, 8, MS_DTYPE_I64);
    ms_tensor *blocks = ms_local(&f, ms_empty(tape, tokens, MS_DTYPE_I64));
    ms_consume(tape, text);
    return ms_locals_end(&f, blocks);
}

/* ---- masks ---- */

/* What the functions of a mask get: numbers of sequences, heads, queries and keys, locals of `f`.
 */
static void places(ms_model *model, ms_locals *f)
{
    ms_tape *tape = model->tape;
    ms_local(f, ms_empty(tape, MS_SHAPE(model->batch), MS_DTYPE_I64));
    ms_local(f, ms_empty_bytes(tape, 8, MS_DTYPE_I64));
    for (int i = 0; i < 2; i++)
        ms_local(f, ms_add_scalar(tape, ms_empty(tape, MS_SHAPE(model->seq), MS_DTYPE_I64)));
}

static ms_shape whole(const ms_model *model)
{
    return MS_SHAPE(model->batch, (ms_dim){.value = 1}, model->seq, model->seq);
}

/* A comparison of queries and keys alone, [S, S]. */
static ms_tensor of_places(ms_model *model)
{
    return ms_empty(model->tape, MS_SHAPE(model->seq, model->seq), MS_DTYPE_BOOL);
}

/* blocks[sequence, place] */
static ms_tensor blocks_of(ms_model *model)
{
    return ms_index_grid(model->tape, MS_SHAPE(model->batch, model->seq), MS_DTYPE_I64);
}

/* (query's block == key's block) & (query's block >= 0) */
static ms_tensor same_block(ms_model *model)
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *query = ms_local(&f, blocks_of(model));
    ms_local(&f, blocks_of(model));
    ms_tensor equal = ms_empty(tape, whole(model), MS_DTYPE_BOOL);
    ms_tensor is_image = ms_compare(tape, *query, 0);
    ms_tensor *both = ms_local(&f, ms_empty(tape, whole(model), MS_DTYPE_BOOL));
    ms_consume(tape, equal);
    ms_consume(tape, is_image);
    return ms_locals_end(&f, both);
}

/* (False | causal) | same block; `first`: the elements of the first False. */
static ms_tensor causal_or_same_block(ms_model *model, ms_shape first)
{
    ms_tape *tape = model->tape;
    ms_tensor none = ms_empty(tape, first, MS_DTYPE_BOOL);
    ms_tensor past = of_places(model), causal = of_places(model);
    ms_consume(tape, past);
    ms_consume(tape, none);
    ms_tensor same = same_block(model);
    ms_tensor allowed = ms_empty(tape, whole(model), MS_DTYPE_BOOL);
    ms_consume(tape, same);
    ms_consume(tape, causal);
    return allowed;
}

static ms_tensor full_mask(ms_model *model)
{
    ms_locals f = ms_locals_begin(model->tape);
    places(model, &f);
    ms_tensor *mask = ms_local(&f, causal_or_same_block(model, (ms_shape){.rank = 0}));
    return ms_locals_end(&f, mask);
}

/* (True & that) & within the window; vmap makes the first values for each query. */
static ms_tensor sliding_mask(ms_model *model)
{
    ms_tape *tape = model->tape;
    ms_shape row = MS_SHAPE(model->seq);
    ms_locals f = ms_locals_begin(tape);
    places(model, &f);
    ms_tensor all = ms_empty(tape, row, MS_DTYPE_BOOL);
    ms_tensor allowed = causal_or_same_block(model, row);
    ms_tensor both = ms_empty(tape, whole(model), MS_DTYPE_BOOL);
    ms_consume(tape, allowed);
    ms_consume(tape, all);
    ms_tensor first = ms_empty(tape, row, MS_DTYPE_I64);
    ms_tensor recent = of_places(model);
    ms_consume(tape, first);
    ms_tensor *mask = ms_local(&f, ms_empty(tape, whole(model), MS_DTYPE_BOOL));
    ms_consume(tape, recent);
    ms_consume(tape, both);
    return ms_locals_end(&f, mask);
}

ms_tensor ms_image_mask(ms_model *model, bool sliding)
{
    ms_tensor allowed = sliding ? sliding_mask(model) : full_mask(model);
    if (model->attention != MS_ATTENTION_EAGER)
        return allowed;
    ms_tensor mask = ms_additive_mask(model->tape, model->batch, model->seq, model->seq,
                                      ms_unpacked_dtype(model));
    ms_consume(model->tape, allowed);
    return mask;
}
