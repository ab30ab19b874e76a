/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows of encoders with decoders: tables that both share, the decoder's tokens, keys and values of
 * the encoder's result in a cache.
 */
#include "input/config/model/model_config.h"
#include "model/blocks/cache.h"
#include "model/evaluator/evaluate.h"
#include "torch/autograd/graph.h"
#include "torch/autograd/hooks.h"
#include "torch/ops/ops.h"

/* ---- tables ---- */

/* A table of embeddings that is made, and has the weight and the scope of another one: its own
 * weight goes once the model is built. */
static void make_shared_embedding(const ms_making *m)
{
    ms_model *model = m->model;
    ms_family_program *program = model->modules;
    const ms_family_part *table = ms_making_follow(m, 0);
    if (!table || !table->tensors[0] ||
        program->spare_count == sizeof program->spare / sizeof *program->spare) {
        ms_tape_fail(model->tape, MS_ERR_CONFIG);
        return;
    }
    m->part->tensors[0] = table->tensors[0];
    m->part->scope = table->scope;
    if (!ms_is_made_on_host(model))
        program->spare[program->spare_count++] = ms_empty(
            model->tape, ms_info(model->tape, table->tensors[0])->shape, model->run->dtype);
}

static void call_shared_embedding(ms_frame *f, ms_family_part *p, const ms_tensor *a, ms_results *r)
{
    r->items[0] = ms_input_embedding(f->model, p->scope, p->tensors[0], 0, a[0]);
}

/* ---- the decoder's tokens ---- */

/* The labels, shifted by one: zeros, a copy of the others into them, and a mask of those that are
 * ignored. */
MS_OPERATION(apply_shifted_labels)
{
    ms_tape *tape = f->model->tape;
    ms_symbols *s = &tape->trace->symbols;
    const ms_shape shape = MS_SHAPE(f->model->batch, f->model->seq);
    ms_shape shorter = shape;
    (void)call, (void)a;
    shorter.dims[1] = ms_dim_rest(s, f->model->seq, ms_dim_number(s, 1));
    const ms_tensor ids = ms_empty(tape, shape, MS_DTYPE_I64);
    ms_consume(tape, ms_empty(tape, shorter, MS_DTYPE_I64));
    ms_consume(tape, ms_empty(tape, shape, MS_DTYPE_BOOL));
    return ms_value_of_tensor(ids);
}

/* ---- the cache ---- */

/* Whether the cache has keys and values of the encoder's result: the local names get them. */
MS_OPERATION(apply_cross_cached)
{
    (void)a;
    return ms_value_of_number(ms_cache_has_cross(f->model, &f->locals, f->self->number,
                                                 ms_frame_local(f, call->items[0]),
                                                 ms_frame_local(f, call->items[1])));
}

/* Those are kept: the local names get what the cache has. */
MS_OPERATION(apply_cross_cache)
{
    (void)a;
    ms_cache_keep_cross(f->model, &f->locals, f->self->number, ms_frame_local(f, call->items[0]),
                        ms_frame_local(f, call->items[1]));
    return (ms_value){0};
}

/* ---- checkpoints ---- */

/* Whether transformers' switch is on, which checkpoints all layers, in training. */
MS_OPERATION(apply_gradient_checkpointing)
{
    const ms_model *m = f->model;
    bool are_all = !m->tape->is_evaluating;
    (void)call, (void)a;
    for (uint64_t i = 0; i < m->config->num_layers && are_all; i++)
        are_all = m->run->treatments.layers[i].kind == MS_TREAT_CHECKPOINT;
    return ms_value_of_number(are_all);
}

MS_OPERATION(apply_requires_grad)
{
    ms_tape *tape = f->model->tape;
    if (!ms_given_tensor(f, call, a[0]))
        return (ms_value){0};
    if (ms_hooks_saving(tape) == MS_SAVING_AGAIN)
        ms_info(tape, a[0].tensor)->requires_grad = true;
    else
        ms_require_grad(tape, a[0].tensor);
    return a[0];
}

static const ms_primitive rows[] = {
    {.name = "shared_embedding",
     .shape = MS_SHAPE_ROWS,
     .parameters = "embedding",
     .types = "p",
     .results = 1,
     .make = make_shared_embedding,
     .call = call_shared_embedding,
     .call_types = "t"},
    MS_OPERATION_ROW("shifted_labels", "", "", apply_shifted_labels),
    MS_OPERATION_ROW("cross_cached", "key value", "ll", apply_cross_cached),
    MS_OPERATION_ROW("cross_cache", "key value", "ll", apply_cross_cache),
    MS_OPERATION_ROW("gradient_checkpointing", "", "", apply_gradient_checkpointing),
    MS_OPERATION_ROW("requires_grad_", "x", "v", apply_requires_grad),
};

const ms_primitive_list ms_translation_rows = {rows, sizeof rows / sizeof *rows};
