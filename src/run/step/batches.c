/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/step/batches.h"

#include "torch/autograd/tape.h"
#include "torch/ops/ops.h"
#include "run/step/run.h"

/* ---- batches ---- */

static void add_batch(ms_batches *b)
{
    ms_tape *tape = b->model->tape;
    tape->new_category = MS_CATEGORY_INPUT;
    const ms_batch batch = {ms_step_new_input(b->model), ms_step_new_mask(b->model),
                            ms_step_new_labels(b->model), ms_step_new_packed_rows(b->model)};
    tape->new_category = MS_CATEGORY_TEMPORARY;
    if (!ms_vec_push(&b->current, batch))
        ms_tape_fail(tape, MS_ERR_NOMEM);
}

/* The first ones go; those behind them stay. */
static void drop_batches(ms_batches *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        ms_release(b->model->tape, b->current.items[i].ids);
        ms_release(b->model->tape, b->current.items[i].mask);
        ms_release(b->model->tape, b->current.items[i].labels);
        ms_step_drop_packed_rows(b->model, &b->current.items[i].packed);
    }
    const uint32_t left = b->current.count - count;
    for (uint32_t i = 0; i < left; i++)
        b->current.items[i] = b->current.items[count + i];
    b->current.count = left;
}

static ms_tensor new_scalar(ms_batches *b, const char *name, ms_dtype dtype)
{
    ms_tape *tape = b->model->tape;
    tape->new_category = MS_CATEGORY_INPUT;
    ms_tensor scalar = ms_empty(tape, (ms_shape){.rank = 0}, dtype);
    tape->new_category = MS_CATEGORY_TEMPORARY;
    ms_retain(tape, scalar);
    ms_name_storage(tape, scalar, name, MS_CATEGORY_INPUT);
    return scalar;
}

/* The labels that the loss is divided by. */
static void count_labels(ms_batches *b)
{
    ms_tensor before = b->model->label_count;
    b->model->label_count = new_scalar(b, "num_items_in_batch", MS_DTYPE_I64);
    ms_release(b->model->tape, before);
}

/* Trainer scales the loss where autocast is in fp16. */
static bool has_scaler(const ms_batches *b)
{
    return b->loop == MS_LOOP_TRAINER && b->model->run->autocast == MS_AUTOCAST_F16;
}

void ms_batches_build(ms_batches *b, ms_model *model)
{
    const ms_training *training = &model->run->training;
    b->model = model;
    b->loop = training->loop;
    if (b->loop == MS_LOOP_FIXED && model->run->parallel.layout.context <= 1)
        add_batch(b);
    else if (b->loop == MS_LOOP_FIXED && ms_vec_push(&b->current, (ms_batch){0}))
        b->current.items[0].labels = ms_step_new_labels(model);
    if (b->loop == MS_LOOP_TRAINER)
        b->total = new_scalar(b, "loss", MS_DTYPE_F32);
    if (has_scaler(b)) {
        (void)new_scalar(b, "scale", MS_DTYPE_F32);
        (void)new_scalar(b, "growth_tracker", MS_DTYPE_I32);
    }
    if (b->loop == MS_LOOP_TRAINER)
        return;
    if (training->label_smoothing > 0)
        count_labels(b);
}

/* Trainer asks for all batches of a step; those of the step before go when it has them. */
void ms_batches_begin(ms_batches *b)
{
    const uint32_t before = b->current.count;
    if (b->loop != MS_LOOP_TRAINER)
        return;
    for (uint64_t i = 0; i < b->model->run->training.accumulate && !ms_idle(b->model->tape); i++)
        add_batch(b);
    count_labels(b);
    drop_batches(b, before);
}

ms_tensor ms_batches_enter(ms_batches *b, uint64_t index)
{
    if (b->loop == MS_LOOP_LOADER) {
        drop_batches(b, b->current.count);
        add_batch(b);
    }
    const uint64_t at = b->loop == MS_LOOP_TRAINER ? index : 0;
    if (at >= b->current.count)
        return 0;
    b->model->attention_mask = b->current.items[at].mask;
    if (b->model->run->documents)
        b->model->position_ids = b->current.items[at].packed.position_ids;
    b->model->class_labels = b->current.items[at].labels;
    return b->current.items[at].ids;
}

/* ---- losses ---- */

/* loss / n: accelerate's, whatever n is, and that of a loop that accumulates. */
static bool divides(const ms_batches *b)
{
    return b->loop == MS_LOOP_TRAINER || b->model->run->training.accumulate > 1;
}

/* What backward begins with: the loss divided, and scaled beside that. */
static ms_tensor scaled(ms_batches *b, ms_tensor loss)
{
    ms_tape *tape = b->model->tape;
    ms_tensor out = ms_div_scalar(tape, loss);
    if (!has_scaler(b) || ms_idle(tape))
        return out;
    ms_retain(tape, out);
    b->divided = out;
    return ms_mul_scalar(tape, out);
}

ms_tensor ms_batches_take(ms_batches *b, ms_tensor loss)
{
    ms_tape *tape = b->model->tape;
    if (b->loop == MS_LOOP_FIXED || ms_idle(tape) || !loss)
        return loss;
    ms_tensor begins = divides(b) ? scaled(b, loss) : loss;
    ms_retain(tape, begins);
    if (b->loop == MS_LOOP_TRAINER) { /* it hands on the loss before that */
        b->loss = loss;
        return begins;
    }
    if (begins != loss) {
        ms_release(tape, loss);
        ms_retain(tape, begins);
    }
    b->loss = begins;
    ms_release(tape, b->held); /* the name is bound anew */
    b->held = 0;
    return begins;
}

void ms_batches_leave(ms_batches *b)
{
    if (b->loop == MS_LOOP_FIXED)
        return;
    ms_release(b->model->tape, b->divided);
    ms_release(b->model->tape, b->held);
    b->held = b->loss;
    b->divided = b->loss = 0;
}

void ms_batches_measured(ms_batches *b)
{
    if (b->loop != MS_LOOP_TRAINER)
        return;
    ms_release(b->model->tape, b->norm);
    b->norm = new_scalar(b, "grad_norm", MS_DTYPE_F32);
}

void ms_batches_free(ms_batches *b)
{
    ms_vec_free(&b->current);
}
