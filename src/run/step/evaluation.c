/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Trainer's evaluation loop: batches without gradients, whose losses, and optionally logits and
 * labels, are concatenated on the device. The results of a batch stay bound until those of the next
 * one exist. Each of several ranks gathers those of all.
 */
#include "run/step/evaluation.h"

#include "torch/ops/ops.h"
#include "run/step/forward.h"

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
