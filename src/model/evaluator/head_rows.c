/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows of encoders and their heads: whole numbers of positions, masks both ways, decoders of words
 * that share a table of embeddings, losses, and what a pass hands out.
 */
#include "model/blocks/attention/masks.h"
#include "input/config/model/model_config.h"
#include "model/blocks/loss.h"
#include "model/evaluator/evaluate.h"
#include "torch/ops/ops.h"

#define FUNCTION(name)                                                                             \
    static void name(ms_frame *f, const ms_text_node *call, const ms_tensor *a, ms_results *r)

/* ---- positions and masks ---- */

/* A buffer of whole numbers, [1, size]. */
static void make_ids(const ms_making *m)
{
    ms_model *model = m->model;
    const ms_dim one = ms_dim_number(&model->tape->trace->symbols, 1);
    const uint32_t previous = ms_scope_enter(model->tape, m->scope);
    m->part->tensors[0] =
        ms_buffer_new(model, MS_SHAPE(one, ms_making_dim(m, 0)), MS_DTYPE_I64, m->name);
    model->tape->scope = previous;
}

/* Initialising the weights makes the position ids once more. */
static void make_ids_again(const ms_making *m)
{
    if (!ms_is_made_on_host(m->model))
        ms_transient(m->model->tape, 8 * ms_making_dim(m, 0).value, MS_DTYPE_I64);
}

FUNCTION(run_padding_mask)
{
    (void)a;
    const ms_dim queries = call->items[0] ? ms_frame_dim(f, call->items[0]) : f->model->seq;
    r->items[0] = ms_padding_mask(f->model, queries,
                                  call->items[1] ? ms_frame_dim(f, call->items[1]) : queries);
}

FUNCTION(run_window_mask)
{
    (void)call, (void)a;
    r->items[0] = ms_window_mask(f->model);
}

/* ---- decoders ---- */

/* The decoder, with a bias: where the config ties, a weight and a bias of its own that are dropped
 * once tie_decoder comes. */
static void make_decoder(const ms_making *m)
{
    ms_model *model = m->model;
    const ms_dim in = ms_making_dim(m, 0), out = ms_making_dim(m, 1);
    if (!model->config->tie_word_embeddings) {
        m->part->linear = ms_linear_new(model, m->scope, m->name, in, out, true);
        return;
    }
    m->part->linear.scope = ms_scope_add(model->tape, m->scope, m->name, MS_NONE);
    if (ms_is_made_on_host(model))
        return;
    m->part->tensors[0] = ms_empty(model->tape, MS_SHAPE(out, in), model->run->dtype);
    m->part->tensors[1] = ms_empty(model->tape, MS_SHAPE(out), model->run->dtype);
}

/* The decoder gets the table's weight, and the head's bias. */
static void make_tie(const ms_making *m)
{
    ms_model *model = m->model;
    ms_family_part *decoder = ms_making_follow(m, 0);
    const ms_family_part *bias = ms_making_follow(m, 1), *table = ms_making_follow(m, 2);
    if (!model->config->tie_word_embeddings)
        return;
    if (!decoder || !bias || !table || !table->tensors[0]) {
        ms_tape_fail(model->tape, MS_ERR_CONFIG);
        return;
    }
    ms_consume(model->tape, decoder->tensors[0]);
    ms_bias_pad(model, decoder->tensors[1]);
    ms_consume(model->tape, decoder->tensors[1]);
    ms_bias_pad(model, bias->tensors[0]);
    decoder->linear.weight = table->tensors[0];
    decoder->linear.bias = bias->tensors[0];
}

/* A decoder of the table's weight, if the config ties, with a bias of its own: it is made with a
 * weight of its own, which is dropped. */
static void make_table_decoder(const ms_making *m)
{
    ms_model *model = m->model;
    const ms_dim in = ms_making_dim(m, 0), out = ms_making_dim(m, 1);
    const ms_family_part *table = ms_making_follow(m, 2);
    const bool has_bias = ms_making_truth(m, 3, true);
    ms_tensor dropped = 0;
    if (!table || !table->tensors[0]) {
        ms_tape_fail(model->tape, MS_ERR_CONFIG);
        return;
    }
    if (!model->config->tie_word_embeddings) {
        m->part->linear = ms_linear_new(model, m->scope, m->name, in, out, has_bias);
        return;
    }
    m->part->linear =
        (ms_linear_module){.scope = ms_scope_add(model->tape, m->scope, m->name, MS_NONE),
                           .weight = table->tensors[0]};
    if (!ms_is_made_on_host(model))
        dropped = ms_empty(model->tape, MS_SHAPE(out, in), model->run->dtype);
    if (has_bias)
        m->part->linear.bias =
            ms_parameter_new(model, m->part->linear.scope, "bias", MS_SHAPE(out));
    ms_consume(model->tape, dropped);
    ms_bias_pad(model, m->part->linear.bias);
}

static void call_decoder(ms_frame *f, ms_family_part *p, const ms_tensor *a, ms_results *r)
{
    r->items[0] = ms_linear_call(f->model, &p->linear, a[0]);
}

/* ---- losses ---- */

static const ms_model_inputs *inputs_of(const ms_frame *f)
{
    return ((const ms_family_program *)f->model->modules)->in;
}

FUNCTION(run_words_loss)
{
    const ms_model *m = f->model;
    const ms_tensor labels = inputs_of(f)->labels;
    const bool has_target = m->config->head == MS_HEAD_TARGET_LM;
    (void)call;
    r->items[0] = labels ? ms_words_loss(f->model, a[0], has_target ? m->class_labels : labels) : 0;
}

FUNCTION(run_words_loss_fp32)
{
    const ms_tensor labels = inputs_of(f)->labels;
    (void)call;
    r->items[0] = labels ? ms_wide_words_loss(f->model, a[0], labels) : 0;
}

FUNCTION(run_class_loss)
{
    (void)call;
    r->items[0] = inputs_of(f)->labels ? ms_class_loss(f->model, a[0]) : 0;
}

FUNCTION(run_causal_loss)
{
    const ms_model_inputs *in = inputs_of(f);
    (void)call;
    r->items[0] = in->labels ? ms_causal_lm_loss(f->model, a[0], in) : 0;
}

/* What ms_head_call makes of hidden states, with labels or without: the loss, or the logits. */
static ms_tensor call_head(ms_frame *f, const ms_text_node *call, ms_tensor hidden, bool has_labels)
{
    const ms_family_program *p = f->model->modules;
    ms_model_inputs in = *p->in;
    ms_model_outputs out = {0};
    if (!p->head) {
        ms_frame_fail(f, call, "the class has no head");
        return 0;
    }
    in.keeps_hidden = false;
    in.labels = has_labels ? in.labels : 0;
    ms_locals locals = ms_locals_begin(f->model->tape);
    const ms_tensor *loss = ms_head_call(f->model, &locals, &p->head->linear, hidden, &in, &out);
    const ms_tensor result = ms_locals_end(&locals, in.labels ? loss : NULL);
    if (in.labels) {
        ms_release(f->model->tape, out.logits);
        return result;
    }
    return ms_unown(f->model->tape, out.logits);
}

FUNCTION(run_lm_loss)
{
    r->items[0] = call_head(f, call, a[0], true);
}

FUNCTION(run_lm_logits)
{
    r->items[0] = call_head(f, call, a[0], false);
}

/* Whether the loss is made in chunks of the hidden states. */
MS_OPERATION(apply_loss_in_chunks)
{
    (void)call, (void)a;
    return ms_value_of_number(inputs_of(f)->labels && f->model->run->treatments.loss_chunks > 1);
}

/* What the caller wants beside the loss. */
FUNCTION(run_outputs)
{
    const ms_model_inputs *in = inputs_of(f);
    ms_model_outputs *out = ((ms_family_program *)f->model->modules)->out;
    (void)r;
    if (f->self != &((ms_family_program *)f->model->modules)->root) {
        ms_frame_fail(f, call, "the forward of the class hands this out");
        return;
    }
    if (in->keeps_hidden)
        out->hidden = ms_hand_out(f->model->tape, a[0]);
    if (in->keeps_logits || !in->labels)
        out->logits = ms_hand_out(f->model->tape, a[1]);
}

static const ms_primitive rows[] = {
    MS_OPERATION_ROW("loss_in_chunks", "", "", apply_loss_in_chunks),
    {.name = "words_decoder",
     .shape = MS_SHAPE_LINEAR,
     .parameters = "in_features out_features",
     .types = "dd",
     .results = 1,
     .make = make_decoder,
     .call = call_decoder,
     .call_types = "t"},
    {.name = "tie_decoder",
     .shape = MS_SHAPE_PARAMETER,
     .parameters = "decoder bias embedding",
     .types = "ppp",
     .results = 1,
     .make = make_tie},
    {.name = "table_decoder",
     .shape = MS_SHAPE_LINEAR,
     .parameters = "in_features out_features embedding bias",
     .types = "ddp|n",
     .results = 1,
     .make = make_table_decoder,
     .call = call_decoder,
     .call_types = "t"},
    {.name = "ids",
     .shape = MS_SHAPE_PARAMETER,
     .parameters = "size",
     .types = "d",
     .results = 1,
     .make = make_ids},
    {.name = "ids_again",
     .shape = MS_SHAPE_PARAMETER,
     .parameters = "size",
     .types = "d",
     .results = 1,
     .make = make_ids_again},
#define RUNS(name_, names_, types_, results_, shape_, run_)                                        \
    {                                                                                              \
        .name = name_, .shape = MS_SHAPE_##shape_, .parameters = names_, .types = types_,          \
        .results = results_, .run = run_                                                           \
    }
    RUNS("padding_mask", "queries keys", "|dd", 1, POSITIONS, run_padding_mask),
    RUNS("window_mask", "", "", 1, POSITIONS, run_window_mask),
    RUNS("words_loss", "logits", "t", 1, ANY, run_words_loss),
    RUNS("words_loss_fp32", "logits", "t", 1, ANY, run_words_loss_fp32),
    RUNS("class_loss", "logits", "t", 1, ANY, run_class_loss),
    RUNS("causal_loss", "logits", "t", 1, ANY, run_causal_loss),
    RUNS("lm_loss", "hidden", "t", 1, LOGITS, run_lm_loss),
    RUNS("lm_logits", "hidden", "t", 1, LOGITS, run_lm_logits),
    RUNS("outputs", "hidden logits", "tt", 0, ANY, run_outputs),
};

const ms_primitive_list ms_head_rows = {rows, sizeof rows / sizeof *rows};
