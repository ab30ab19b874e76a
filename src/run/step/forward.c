/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/forward.h"

#include "model/blocks/blocks.h"
#include "model/blocks/tensor_parallel.h"
#include "model/families.h"
#include "torch/autograd/engine.h"
#include "torch/ops/ops.h"
#include "torch/parallel/parallel.h"

/* ---- evaluation ---- */

/* Batches that are run; later ones do the same, so only what they leave is made. */
enum { LOSS_BATCHES = 2, MOST_BATCHES = 32 };

typedef struct kept {
    ms_tensor *losses, *logits, *labels;             /* of the last batch */
    ms_tensor *all_losses, *all_logits, *all_labels; /* of all */
    bool hands_out_logits;                           /* the model does */
} kept;

/* accelerate's gather of the rows of all ranks. */
static ms_tensor gathered(const ms_model *model, ms_tensor part)
{
    ms_tape *tape = model->tape;
    const ms_layout *layout = &model->run->parallel.layout;
    if (layout->kind == MS_PARALLEL_NONE || ms_idle(tape) || !part)
        return part;
    const ms_tensor_info info = *ms_info(tape, part);
    ms_shape shape = info.shape;
    ms_symbols *s = &tape->trace->symbols;
    shape.dims[0] = ms_dim_mul(s, ms_dim_number(s, ms_layout_world(layout)), shape.dims[0]);
    return ms_empty(tape, shape, (ms_dtype)info.dtype);
}

static void join(ms_locals *f, ms_tensor *all, ms_tensor part)
{
    ms_assign(f, all, *all ? ms_cat2(f->tape, *all, part, 0) : part);
}

/* The loss as Trainer takes it: its mean, a tensor of its own. */
static ms_model_outputs predict(ms_model *model, ms_tensor ids, bool keeps_logits)
{
    ms_tape *tape = model->tape;
    ms_model_outputs out = ms_forward(model, ids, keeps_logits);
    ms_tensor mean = ms_empty(tape, (ms_shape){.rank = 0}, MS_DTYPE_F32);
    ms_retain(tape, mean);
    ms_release(tape, out.loss);
    out.loss = mean;
    if (model->run->training.eval_logits == 0) {
        ms_release(tape, out.logits);
        out.logits = 0;
    }
    return out;
}

/* The logits of a batch that is not run, as those of the last one of all ranks. */
static ms_model_outputs repeat(const ms_model *model, ms_tensor logits)
{
    ms_tape *tape = model->tape;
    ms_model_outputs out = {.loss = ms_empty(tape, (ms_shape){.rank = 0}, MS_DTYPE_F32)};
    ms_retain(tape, out.loss);
    const ms_tensor_info last = *ms_info(tape, logits);
    ms_shape shape = last.shape;
    shape.dims[0] = model->batch;
    out.logits = ms_empty(tape, shape, (ms_dtype)last.dtype);
    ms_retain(tape, out.logits);
    return out;
}

static void run_batch(ms_model *model, ms_locals *f, const kept *k, ms_tensor ids, bool is_repeat)
{
    ms_tape *tape = model->tape;
    ms_model_outputs out =
        is_repeat ? repeat(model, *k->logits) : predict(model, ids, k->hands_out_logits);
    if (ms_idle(tape))
        return;
    ms_assign(f, k->losses, out.loss);
    ms_release(tape, out.loss);
    ms_assign(f, k->logits, out.logits);
    ms_release(tape, out.logits);
    ms_assign(f, k->labels, *k->logits ? ids : 0); /* the batch's own, until they are gathered */
    ms_assign(f, k->losses, ms_empty(tape, MS_SHAPE(model->batch), MS_DTYPE_F32));
    ms_assign(f, k->losses, gathered(model, *k->losses));
    join(f, k->all_losses, *k->losses);
    if (!*k->logits)
        return;
    ms_assign(f, k->logits, gathered(model, *k->logits));
    join(f, k->all_logits, *k->logits);
    ms_assign(f, k->labels, gathered(model, ids));
    join(f, k->all_labels, *k->labels);
}

/* The same share of rows as in training, at least two documents where there are any. */
static void join_rows(ms_run_config *run)
{
    const uint64_t sequences = run->training.eval_batch;
    run->seq_tokens = run->seq_tokens / run->joined * sequences;
    if (run->documents)
        run->documents = sequences > 2 ? sequences : 2;
    run->training.eval_batch = 1;
}

ms_evaluation ms_evaluation_begin(ms_model *model, ms_run_config *run)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    ms_evaluation e = {.run = model->run,
                       .batch = model->batch,
                       .seq = model->seq,
                       .mask = model->attention_mask,
                       .position_ids = model->position_ids};
    run->training.labels = 0;
    if (run->joined) {
        join_rows(run);
        model->seq = ms_dim_number(s, run->seq_tokens);
    }
    run->batch = run->training.eval_batch;
    model->run = run;
    model->batch = ms_dim_number(s, run->batch);
    e.given.ids = ms_empty(tape, MS_SHAPE(model->batch, model->seq), MS_DTYPE_I64);
    ms_retain(tape, e.given.ids);
    ms_name_storage(tape, e.given.ids, "input_ids", MS_CATEGORY_INPUT);
    model->attention_mask = e.given.mask = ms_step_new_mask(model);
    e.given.packed = ms_step_new_packed_rows(model);
    if (run->documents)
        model->position_ids = e.given.packed.position_ids;
    return e;
}

void ms_evaluation_end(ms_model *model, ms_evaluation *e)
{
    ms_step_drop_packed_rows(model, &e->given.packed);
    ms_release(model->tape, e->given.mask);
    ms_release(model->tape, e->given.ids);
    model->attention_mask = e->mask;
    model->position_ids = e->position_ids;
    model->batch = e->batch;
    model->seq = e->seq;
    model->run = e->run;
}

void ms_evaluate(ms_model *model, ms_tensor ids, bool keeps_logits)
{
    ms_tape *tape = model->tape;
    uint64_t batches =
        model->run->training.eval_logits ? model->run->training.eval_logits : LOSS_BATCHES;
    ms_locals f = ms_locals_begin(tape);
    kept k = {ms_local(&f, 0), ms_local(&f, 0), ms_local(&f, 0), ms_local(&f, 0),
              ms_local(&f, 0), ms_local(&f, 0), keeps_logits};
    for (uint64_t i = 0; i < batches && !ms_idle(tape); i++)
        run_batch(model, &f, &k, ids, i >= MOST_BATCHES);
    ms_locals_end(&f, NULL);
}

/* ---- forward ---- */

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
