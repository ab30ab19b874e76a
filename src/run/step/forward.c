/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/forward.h"

#include "torch/autograd/engine.h"
#include "model/blocks/blocks.h"
#include "model/blocks/tensor_parallel.h"
#include "model/families.h"
#include "torch/ops/ops.h"
#include "torch/parallel/parallel.h"

/* What accelerate makes of outputs: what ran under autocast is handed on in fp32. */
static ms_tensor handed_on(const ms_model *model, ms_tensor output)
{
    ms_tape *tape = model->tape;
    if (model->run->autocast == MS_AUTOCAST_NONE || !output)
        return output;
    ms_tensor wide = ms_to(tape, ms_unown(tape, output), MS_DTYPE_F32);
    ms_retain(tape, wide);
    return wide;
}

bool ms_forward_has_loss(const ms_model *model)
{
    return model->run->training.label_smoothing <= 0 && !model->run->parallel.splits_loss;
}

/* ---- the model's outputs, where the loss is made of them ---- */

/* fully_shard hears of the gradient of an output. */
static void output_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    (void)node;
    const ms_tensor_info info = *ms_info(tape, grads[0]);
    ms_parallel_backward_begins(tape);
    out[0] = ms_alias(tape, grads[0], info.shape, info.strides);
}

static const ms_op output_op = {NULL, "output", output_backward};

/* The same tensor, whose gradient is heard of; it stays owned. */
static ms_tensor heard_of(ms_tape *tape, ms_tensor output)
{
    if (ms_idle(tape) || !output)
        return output;
    const ms_tensor_info info = *ms_info(tape, output);
    uint32_t node = ms_record(tape, &output_op, 1, &output);
    ms_tensor out = ms_alias(tape, output, info.shape, info.strides);
    ms_attach(tape, node, 1, &out);
    ms_retain(tape, out);
    ms_release(tape, output);
    return out;
}

/* DistributedDataParallel's function around the outputs. */
static void copy_backward(ms_tape *tape, const ms_node *node, ms_tensor *grads, ms_tensor *out)
{
    (void)node;
    const ms_tensor_info info = *ms_info(tape, grads[0]);
    out[0] = ms_alias(tape, grads[0], info.shape, info.strides);
}

static const ms_op copy_op = {NULL, "DDPSink", copy_backward};

static ms_tensor copy_of(ms_tape *tape, ms_tensor output)
{
    return ms_empty_like(tape, output, (ms_dtype)ms_info(tape, output)->dtype);
}

/* The loss and the logits as copies, or the logits alone; the originals go when the copies are
 * there. */
static void copy_outputs(ms_tape *tape, ms_model_outputs *out)
{
    ms_tensor *used = out->loss ? &out->loss : &out->logits;
    if (ms_idle(tape) || !*used)
        return;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *copy = ms_local(&f, copy_of(tape, *used));
    if (out->loss && out->logits)
        ms_local(&f, copy_of(tape, out->logits));
    uint32_t node = ms_record(tape, &copy_op, 1, used);
    ms_attach(tape, node, 1, copy);
    ms_release(tape, out->loss);
    ms_release(tape, out->logits);
    out->loss = out->logits = 0;
    *used = *copy;
    ms_retain(tape, *used);
    ms_locals_end(&f, NULL);
}

static void drop_logits(ms_tape *tape, ms_model_outputs *out)
{
    ms_release(tape, out->logits);
    out->logits = 0;
}

/* Looking for unused parameters is Trainer's way, and what accelerate makes of outputs is inside
 * DistributedDataParallel, which copies that. */
static void hand_out(ms_model *model, ms_model_outputs *out)
{
    ms_tape *tape = model->tape;
    if (tape->has_autocast && model->run->parallel.finds_unused) {
        ms_autocast_clear(tape);
        tape->has_autocast = false;
        out->logits = handed_on(model, out->logits);
    }
    copy_outputs(tape, out);
}

/* FSDP hands on inputs that float in the type it gathers parameters in: held until the forward is
 * over. Others stay as they are. */
static ms_tensor as_gathered(const ms_model *model, ms_tensor input)
{
    ms_tape *tape = model->tape;
    const ms_parallel *parallel = &model->run->parallel;
    bool casts = ms_layout_shards(&parallel->layout) && parallel->has_param_dtype;
    if (ms_idle(tape) || !input)
        return 0;
    casts = casts && ms_dtype_info_of((ms_dtype)ms_info(tape, input)->dtype)->floating;
    ms_tensor cast = casts ? ms_to(tape, input, parallel->param_dtype) : input;
    ms_retain(tape, cast);
    return cast;
}

/* Trainer evaluates the model itself: hooks are those of what gathers its parameters, not of
 * DistributedDataParallel around it. */
static bool has_hooks(const ms_model *model)
{
    const ms_layout *layout = &model->run->parallel.layout;
    return !model->tape->is_evaluating || layout->kind != MS_PARALLEL_DDP;
}

/* Forward in the root's hooks, of ids or pictures, and of images beside them. */
static void run_root(ms_model *model, ms_model_inputs in, ms_model_outputs *out)
{
    ms_tape *tape = model->tape;
    const ms_tensor images = model->pixel_values;
    if (has_hooks(model))
        ms_module_begin(tape, MS_NONE);
    in.ids = as_gathered(model, in.ids);
    model->pixel_values = as_gathered(model, images);
    ms_model_forward(model, &in, out);
    if (has_hooks(model)) /* a loss that is not the model's own comes after it */
        ms_module_end(tape, MS_NONE);
    ms_release(tape, in.ids);
    ms_release(tape, model->pixel_values);
    model->pixel_values = images;
}

/* Trainer gives a model no labels where it smooths them itself. */
static ms_model_outputs run_program(ms_model *model, ms_tensor ids, bool keeps_logits)
{
    ms_tape *tape = model->tape;
    bool trains = !tape->is_evaluating;
    bool copies = trains && ms_parallel_copies_outputs(tape);
    bool widens = trains && !copies && model->run->training.loop == MS_LOOP_TRAINER;
    const ms_model_inputs in = {.ids = ids,
                                .labels = ms_forward_has_loss(model) ? ids : 0,
                                .kept_logits = model->run->training.logits_to_keep,
                                .keeps_logits = keeps_logits || trains};
    ms_model_outputs out = {0};
    tape->has_autocast = model->run->autocast != MS_AUTOCAST_NONE;
    tape->autocast_dtype = model->run->autocast == MS_AUTOCAST_F16 ? MS_DTYPE_F16 : MS_DTYPE_BF16;
    run_root(model, in, &out);
    if (copies)
        hand_out(model, &out);
    if (in.labels && !keeps_logits && !widens) { /* they were there while the root's hooks ran */
        drop_logits(tape, &out);
        ms_release(tape, out.auxiliary);
        out.auxiliary = 0;
    }
    if (!ms_forward_has_loss(model) && model->run->parallel.layout.kind == MS_PARALLEL_FSDP2)
        out.logits = heard_of(tape, out.logits);
    if (tape->has_autocast)
        ms_autocast_clear(tape);
    tape->has_autocast = false;
    if (!copies)
        out.logits = handed_on(model, out.logits);
    return out;
}

ms_model_outputs ms_forward(ms_model *model, ms_tensor ids, bool keeps_logits)
{
    ms_tape *tape = model->tape;
    ms_model_outputs out = run_program(model, ids, keeps_logits);
    if (model->run->training.label_smoothing > 0) {
        out.loss = ms_hand_out(
            tape, ms_smoothed_loss(model, out.logits, ids, model->run->training.logits_to_keep));
        ms_release(tape, out.auxiliary);
        out.auxiliary = 0;
    }
    if (model->run->parallel.splits_loss)
        out.loss = ms_hand_out(tape, ms_split_loss(model, out.logits, ids));
    if (!keeps_logits)
        drop_logits(tape, &out);
    return out;
}
