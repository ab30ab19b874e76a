/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The head and the framework's causal language model loss: fp32 logits, shifted labels, cross
 * entropy.
 */
#include "model/blocks/loss.h"

#include "model/blocks/blocks.h"
#include "model/blocks/losses/cut_loss.h"
#include "model/blocks/losses/trl_loss.h"
#include "model/blocks/losses/tune_loss.h"

#include "input/config/model/model_config.h"
#include "torch/ops/liger/liger.h"
#include "torch/ops/moe/experts.h"
#include "torch/ops/moe/rows.h"
#include "torch/ops/ops.h"
#include "torch/treatments/recompute.h"

ms_dim ms_kept_tokens(ms_model *model, uint64_t kept)
{
    return kept == 0 || kept >= model->seq.value
               ? model->seq
               : ms_dim_number(&model->tape->trace->symbols, kept);
}

/* The labels with one more, ignored one at the end: [B, S + 1]. */
static ms_tensor pad_labels(ms_model *model, ms_dim tokens)
{
    ms_symbols *s = &model->tape->trace->symbols;
    ms_dim padded = ms_dim_add(s, tokens, ms_dim_number(s, 1));
    return ms_empty(model->tape, MS_SHAPE(model->batch, padded), MS_DTYPE_I64);
}

/* The same without the first: [B, S], a copy. */
static ms_tensor shift_labels(ms_model *model, ms_tensor padded, ms_dim tokens)
{
    return ms_contiguous(model->tape, ms_narrow(model->tape, padded, 1, tokens));
}

/* Whether the run has Liger's kernel for a loss: of logits, or of the head too. */
static bool has_liger(const ms_model *model, bool of_logits)
{
    const ms_run_config *run = model->run;
    return (run->liger & MS_LIGER_LOSS) && (run->liger_family->logits_share == 0) == of_logits;
}

ms_tensor ms_causal_lm_loss(ms_model *model, ms_tensor logits, const ms_model_inputs *in)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !logits)
        return 0;
    ms_locals f = ms_locals_begin(tape);
    ms_dim kept = ms_kept_tokens(model, in->kept_logits);
    ms_dim tokens = ms_dim_mul(&tape->trace->symbols, model->batch, kept);
    ms_tensor *scores = ms_local(&f, ms_to(tape, logits, MS_DTYPE_F32));
    ms_tensor *padded = ms_local(&f, in->labels);
    ms_assign(&f, padded, pad_labels(model, kept));
    ms_tensor *shifted = ms_local(&f, shift_labels(model, *padded, kept));
    ms_assign(&f, scores, ms_view(tape, *scores, MS_SHAPE(tokens, model->vocab)));
    ms_assign(&f, shifted, ms_view(tape, *shifted, MS_SHAPE(tokens)));
    ms_tensor loss = has_liger(model, true) ? ms_liger_cross_entropy(tape, *scores)
                                            : ms_cross_entropy(tape, *scores, *shifted);
    if (model->label_count && !ms_idle(tape)) /* the sum is divided by it */
        loss = ms_div(tape, *ms_local(&f, loss), model->label_count);
    ms_retain(tape, loss);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, loss);
}

/* ---- Liger's: head and loss in one ---- */

static ms_tensor fused_loss(ms_model *model, const ms_linear_module *head, ms_tensor hidden,
                            ms_tensor labels)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !hidden)
        return 0;
    ms_locals f = ms_locals_begin(tape);
    ms_dim tokens = ms_dim_mul(&tape->trace->symbols, model->batch, model->seq);
    ms_tensor *rows =
        ms_local(&f, ms_view(tape, hidden, MS_SHAPE(tokens, ms_info(tape, hidden)->shape.dims[2])));
    ms_tensor *padded = ms_local(&f, labels);
    ms_assign(&f, padded, pad_labels(model, model->seq));
    ms_local(&f, shift_labels(model, *padded, model->seq));
    uint32_t previous = ms_scope_enter(tape, head->scope);
    ms_tensor loss =
        ms_liger_loss(tape, *rows, head->weight, model->run->liger_family->logits_share);
    tape->scope = previous;
    ms_retain(tape, loss);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, loss);
}

/* ---- in chunks ---- */

typedef struct chunk_context {
    ms_model *model;
    const ms_linear_module *head;
    ms_tensor *labels; /* by chunk; a recomputation finds them here */
} chunk_context;

/* head(hidden), or (logits / cap).tanh() * cap */
static ms_tensor chunk_logits(const chunk_context *c, ms_tensor hidden)
{
    ms_tape *tape = c->model->tape;
    ms_tensor out = ms_linear_call(c->model, c->head, hidden);
    if (!c->model->config->caps_logits || ms_idle(tape))
        return out;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *logits = ms_local(&f, out);
    ms_tensor tanh = ms_tanh(tape, ms_div_scalar(tape, *logits));
    ms_tensor *capped = ms_local(&f, ms_idle(tape) ? 0 : ms_mul_scalar(tape, tanh));
    return ms_locals_end(&f, capped);
}

/* cross_entropy(logits.float(), labels, reduction="sum") */
static ms_tensor chunk_loss(ms_tape *tape, void *context, uint64_t number, ms_tensor hidden)
{
    const chunk_context *c = context;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, hidden);
    /* An argument of the call: it lives until that has returned. */
    ms_tensor scores = ms_to(tape, chunk_logits(c, *input), MS_DTYPE_F32);
    ms_retain(tape, scores);
    ms_tensor *loss = ms_local(&f, ms_cross_entropy(tape, scores, c->labels[number]));
    ms_release(tape, scores);
    return ms_locals_end(&f, loss);
}

/* Sums the losses of the chunks; `context` and its labels live as long as the model. */
static ms_tensor sum_chunks(ms_model *model, chunk_context *context, const ms_tensor *hidden,
                            uint32_t count, ms_locals *f)
{
    ms_tape *tape = model->tape;
    ms_tensor *total = ms_local(f, 0);
    for (uint32_t i = 0; i < count && !ms_idle(tape); i++) {
        const ms_region region = {
            .run = chunk_loss, .context = context, .number = i, .positional = &context->labels[i]};
        ms_tensor loss = ms_checkpoint_run(tape, &region, hidden[i]);
        ms_assign(f, total, i ? ms_add(tape, *total, loss) : loss);
    }
    return *total;
}

static ms_tensor chunked_loss(ms_model *model, const ms_linear_module *head, ms_tensor hidden)
{
    ms_tape *tape = model->tape;
    uint32_t most = model->run->treatments.loss_chunks, count;
    ms_tensor *parts = ms_arena_array(model->arena, ms_tensor, most);
    ms_tensor *label_parts = ms_arena_array(model->arena, ms_tensor, most);
    chunk_context *context = ms_arena_array(model->arena, chunk_context, 1);
    if (!parts || !label_parts || !context)
        ms_tape_fail(tape, MS_ERR_NOMEM);
    if (ms_idle(tape) || !hidden)
        return 0;
    *context = (chunk_context){model, head, label_parts};
    ms_locals f = ms_locals_begin(tape);
    ms_dim tokens = ms_dim_mul(&tape->trace->symbols, model->batch, model->seq);
    ms_tensor *shifted =
        ms_local(&f, shift_labels(model, pad_labels(model, model->seq), model->seq));
    ms_assign(&f, shifted, ms_view(tape, *shifted, MS_SHAPE(tokens)));
    ms_tensor flat = ms_view(tape, hidden, MS_SHAPE(tokens, ms_info(tape, hidden)->shape.dims[2]));
    count = ms_chunk_rows(tape, flat, most, parts);
    (void)ms_chunk_rows(tape, *shifted, most, label_parts);
    for (uint32_t i = 0; i < count; i++) {
        ms_retain(tape, parts[i]);
        ms_retain(tape, label_parts[i]);
    }
    ms_tensor total = sum_chunks(model, context, parts, count, &f);
    ms_tensor *tokens_counted = ms_local(&f, ms_count_nonzero(tape, ms_compare(tape, *shifted, 0)));
    ms_tensor *loss = ms_local(&f, ms_div(tape, total, *tokens_counted));
    for (uint32_t i = 0; i < count; i++) {
        ms_release(tape, parts[i]);
        ms_release(tape, label_parts[i]);
    }
    return ms_locals_end(&f, loss);
}

/* ---- classes by the last token ---- */

/* (arange(S) * (ids != pad)).argmax(-1): the last token that is no padding. Binds what it makes. */
static ms_tensor last_tokens(ms_model *model, ms_locals *f, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    ms_tensor *is_text = ms_local(f, ms_to(tape, ms_compare(tape, ids, 0), MS_DTYPE_I32));
    ms_tensor *numbers = ms_local(f, ms_empty(tape, MS_SHAPE(model->seq), MS_DTYPE_I32));
    ms_tensor products = ms_mul(tape, *numbers, *is_text);
    ms_tensor last = ms_empty(tape, MS_SHAPE(model->batch), MS_DTYPE_I64);
    ms_consume(tape, products);
    return last;
}

/* cross_entropy(pooled.view(-1, C), labels.view(-1)) */
ms_tensor ms_class_loss(ms_model *model, ms_tensor pooled)
{
    ms_tape *tape = model->tape;
    ms_dim rows = model->batch;
    if (model->config->head == MS_HEAD_EACH_TOKEN)
        rows = ms_dim_mul(&tape->trace->symbols, rows, model->seq);
    ms_tensor labels = ms_view(tape, model->class_labels, MS_SHAPE(rows));
    return ms_cross_entropy(tape, ms_view(tape, pooled, MS_SHAPE(rows, model->labels)), labels);
}

ms_tensor ms_words_loss(ms_model *model, ms_tensor scores, ms_tensor labels)
{
    ms_tape *tape = model->tape;
    ms_dim tokens = ms_dim_mul(&tape->trace->symbols, model->batch, model->seq);
    ms_tensor flat = ms_view(tape, labels, MS_SHAPE(tokens));
    return ms_cross_entropy(tape, ms_view(tape, scores, MS_SHAPE(tokens, model->vocab)), flat);
}

ms_tensor ms_wide_words_loss(ms_model *model, ms_tensor scores, ms_tensor labels)
{
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor *wide = ms_local(&f, ms_to(model->tape, scores, MS_DTYPE_F32));
    ms_tensor *loss = ms_local(&f, ms_words_loss(model, *wide, labels));
    return ms_locals_end(&f, loss);
}

/* The logits of one token of each sequence, bound. */
static ms_tensor *last_token_logits(ms_model *model, ms_locals *f, const ms_linear_module *head,
                                    ms_tensor hidden, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    ms_tensor *logits = ms_local(f, ms_linear_call(model, head, hidden));
    bool pads = model->config->pad_token_id != UINT64_MAX;
    ms_tensor *last = ms_local(f, pads ? last_tokens(model, f, ids) : 0);
    ms_tensor rows = ms_empty(tape, MS_SHAPE(model->batch), MS_DTYPE_I64);
    /* Without padding the last token is a number: the rest is indexed by rows alone. */
    return ms_local(f, pads ? ms_index_pairs(tape, *logits, rows, *last)
                            : ms_index_rows(tape, ms_select(tape, *logits, 1), rows));
}

static ms_tensor last_token_loss(ms_model *model, const ms_linear_module *head, ms_tensor hidden,
                                 const ms_model_inputs *in, ms_model_outputs *out)
{
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor *pooled = last_token_logits(model, &f, head, hidden, in->ids);
    if (in->keeps_logits || !in->labels)
        out->logits = ms_hand_out(model->tape, *pooled);
    ms_tensor *loss = ms_local(&f, in->labels ? ms_class_loss(model, *pooled) : 0);
    return ms_locals_end(&f, loss);
}

/* hidden[:, -N:, :]: a slice even where it is all of it. */
static ms_tensor keep_last(ms_model *model, ms_tensor hidden, uint64_t kept)
{
    return kept == 0 ? hidden : ms_narrow(model->tape, hidden, 1, ms_kept_tokens(model, kept));
}

ms_tensor ms_hand_out(ms_tape *tape, ms_tensor tensor)
{
    ms_retain(tape, tensor);
    return tensor;
}

void ms_forward_end(ms_locals *f, const ms_tensor *loss, ms_model_outputs *out)
{
    out->loss = ms_hand_out(f->tape, ms_locals_end(f, loss));
}

/* The logits as the model hands them out, bound. */
static ms_tensor *whole_logits(ms_model *model, ms_locals *f, const ms_linear_module *head,
                               ms_tensor hidden, uint64_t kept)
{
    ms_tensor *logits = ms_local(f, ms_linear_call(model, head, keep_last(model, hidden, kept)));
    if (model->scale_logits)
        ms_assign(f, logits, model->scale_logits(model->tape, *logits));
    if (model->config->caps_logits)
        ms_soft_cap(model, f, logits);
    return logits;
}

ms_tensor *ms_head_call(ms_model *model, ms_locals *f, const ms_linear_module *head,
                        ms_tensor hidden, const ms_model_inputs *in, ms_model_outputs *out)
{
    if (in->keeps_hidden)
        out->hidden = ms_hand_out(model->tape, hidden);
    if (model->config->head == MS_HEAD_LAST_TOKEN)
        return ms_local(f, last_token_loss(model, head, hidden, in, out));
    if (in->labels && model->run->treatments.loss_chunks > 1)
        return ms_local(f, chunked_loss(model, head, hidden));
    if (in->labels && model->run->training.loss == MS_LOSS_TRL)
        return ms_local(f, ms_trl_loss(model, head, hidden, in->labels));
    if (in->labels && model->run->training.loss == MS_LOSS_TORCHTUNE)
        return ms_local(f, ms_tune_loss(model, head, hidden));
    if (in->labels && model->run->training.loss == MS_LOSS_CUT)
        return ms_local(f, ms_cut_loss(model, head, hidden, in->labels));
    if (in->labels && has_liger(model, false))
        return ms_local(f, fused_loss(model, head, hidden, in->labels));
    const ms_tensor *logits = whole_logits(model, f, head, hidden, in->kept_logits);
    if (in->keeps_logits || !in->labels)
        out->logits = ms_hand_out(model->tape, *logits);
    return ms_local(f, in->labels ? ms_causal_lm_loss(model, *logits, in) : 0);
}
