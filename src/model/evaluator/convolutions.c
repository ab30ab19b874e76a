/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows of convolutions: of frames of a sound, and of patches of a picture.
 */
#include "model/evaluator/evaluate.h"
#include "torch/autograd/graph.h"
#include "torch/ops/convolution/convolution.h"
#include "torch/ops/ops.h"

/* The half of a size, whose symbol may be twice another one. */
static ms_dim half_of(ms_symbols *s, ms_dim dim)
{
    const ms_symbol symbol = s->table.items[dim.symbol];
    if (symbol.kind == MS_SYMBOL_PRODUCT && s->table.items[symbol.left].value == 2)
        return (ms_dim){dim.value / 2, symbol.right};
    return ms_dim_half(s, dim);
}

/* tensors: weight and bias; `width`: of the steps. */
static void make(const ms_making *m, uint32_t rank, const ms_dim *dims, bool has_bias)
{
    m->part->scope = ms_scope_add(m->model->tape, m->scope, m->name, MS_NONE);
    m->part->tensors[0] =
        ms_parameter_new(m->model, m->part->scope, "weight", ms_shape_of(rank, dims));
    if (has_bias)
        m->part->tensors[1] = ms_parameter_new(m->model, m->part->scope, "bias", MS_SHAPE(dims[0]));
}

static void make_convolution(const ms_making *m)
{
    ms_symbols *s = &m->model->tape->trace->symbols;
    const ms_dim dims[] = {ms_making_dim(m, 1), ms_making_dim(m, 0), ms_dim_number(s, 3)};
    make(m, 3, dims, true);
    m->part->width = ms_making_truth(m, 2, false) ? 2 : 1;
}

/* Transformers takes the one that reads the input for an embedding: with an adapter and
 * checkpoints, its result requires a gradient. */
static bool is_of_input(const ms_family_part *p, uint32_t argument)
{
    const ms_text_node *node = p->maker->items[argument];
    return node && node->number > 0;
}

/* [B, C, frames], padded by one at both ends. */
static void call_convolution(ms_frame *f, ms_family_part *p, const ms_tensor *a, ms_results *r)
{
    ms_tape *tape = f->model->tape;
    const ms_dim frames = ms_info(tape, a[0])->shape.dims[2];
    const ms_dim out = p->width == 1 ? frames : half_of(&tape->trace->symbols, frames);
    const uint32_t previous = ms_scope_enter(tape, p->scope);
    r->items[0] = ms_convolve(tape, a[0], p->tensors[0], p->tensors[1], out);
    if (is_of_input(p, 3) && ms_inputs_require_grad(f->model))
        ms_require_grad(tape, r->items[0]);
    tape->scope = previous;
}

static void make_patches(const ms_making *m)
{
    const bool has_frames = m->call->items[6] != NULL;
    ms_dim dims[5] = {ms_making_dim(m, 1), ms_making_dim(m, 0)};
    uint32_t rank = 2;
    if (has_frames)
        dims[rank++] = ms_making_dim(m, 6);
    dims[rank++] = ms_making_dim(m, 2);
    dims[rank++] = ms_making_dim(m, 3);
    make(m, rank, dims, ms_making_truth(m, 4, true));
}

/* [B, C, height, width]: each patch is one place of the result. */
static void call_patches(ms_frame *f, ms_family_part *p, const ms_tensor *a, ms_results *r)
{
    ms_tape *tape = f->model->tape;
    ms_symbols *s = &tape->trace->symbols;
    const ms_shape *sides = &ms_info(tape, a[0])->shape;
    const ms_shape *patch = &ms_info(tape, p->tensors[0])->shape;
    const ms_dim one = {.value = 1};
    const bool is_one = patch->rank == 5; /* of a few frames: a patch each */
    const ms_dim rows =
        is_one ? one : ms_dim_number(s, sides->dims[2].value / patch->dims[2].value);
    const ms_dim columns =
        is_one ? one : ms_dim_number(s, sides->dims[3].value / patch->dims[3].value);
    const uint32_t previous = ms_scope_enter(tape, p->scope);
    r->items[0] = ms_patches(tape, a[0], p->tensors[0], p->tensors[1], rows, columns);
    if (is_of_input(p, 5) &&
        (f->model->run->images.checkpoints || ms_inputs_require_grad(f->model)))
        ms_require_grad(tape, r->items[0]);
    tape->scope = previous;
}

/* ---- shapes ---- */

static bool has_channels(ms_frame *f, const ms_text_node *maker, ms_tensor x, uint32_t rank)
{
    const ms_shape *shape = &ms_info(f->model->tape, x)->shape;
    return shape->rank == rank && shape->dims[1].value == ms_frame_dim(f, maker->items[0]).value;
}

static bool fits_convolution(ms_frame *f, const ms_text_node *node, const ms_text_node *maker,
                             const ms_tensor *a)
{
    return has_channels(f, maker, a[0], 3) ||
           ms_check_fail(f, node, a[0], "expected [B, channels, frames]");
}

static bool fits_patches(ms_frame *f, const ms_text_node *node, const ms_text_node *maker,
                         const ms_tensor *a)
{
    const ms_shape *shape = &ms_info(f->model->tape, a[0])->shape;
    if (maker->items[6])
        return has_channels(f, maker, a[0], 5) ||
               ms_check_fail(f, node, a[0], "expected [patches, channels, frames, height, width]");
    return (has_channels(f, maker, a[0], 4) &&
            shape->dims[2].value >= ms_frame_dim(f, maker->items[2]).value &&
            shape->dims[3].value >= ms_frame_dim(f, maker->items[3]).value) ||
           ms_check_fail(f, node, a[0], "expected [B, channels, height, width] of a patch or more");
}

static const ms_primitive rows[] = {
    {.name = "convolution",
     .fits = fits_convolution,
     .parameters = "in_channels out_channels halves of_input",
     .types = "dd|nn",
     .results = 1,
     .make = make_convolution,
     .call = call_convolution,
     .call_types = "t"},
    {.name = "patches",
     .fits = fits_patches,
     .parameters = "in_channels out_channels height width bias of_input frames",
     .types = "dddd|nnd",
     .results = 1,
     .make = make_patches,
     .call = call_patches,
     .call_types = "t"},
};

const ms_primitive_list ms_convolution_rows = {rows, sizeof rows / sizeof *rows};
