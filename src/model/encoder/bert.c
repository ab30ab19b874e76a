/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * BERT: an encoder with learned positions and sentence types, norms after the residuals, biases
 * everywhere. Its class determines the pooler and the heads.
 */
#include "model/family/family_list.h"
#include "model/encoder/bert_keys.h"
#include "model/encoder/bert_layers.h"
#include "torch/ops/ops.h"

/* clang-format off */
static const ms_key keys[] = {
    BERT_SIZES(30522, 768, 12, 3072),
    BERT_KEYS,
    IGNORED("pad_token_id"),
};
/* clang-format on */

static bool has_pooler(const ms_model *model)
{
    return model->config->head == MS_HEAD_FIRST_TOKEN || model->config->head == MS_HEAD_PRETRAINING;
}

static bool predicts_words(const ms_model *model)
{
    return model->config->head == MS_HEAD_MASKED_LM || model->config->head == MS_HEAD_PRETRAINING;
}

/* ---- construction ---- */

static void build_heads(ms_model *model, ms_bert *b)
{
    if (!predicts_words(model)) {
        b->classifier =
            ms_linear_new(model, MS_NONE, "classifier", model->hidden, model->labels, true);
        return;
    }
    uint32_t cls = ms_child_scope(model, MS_NONE, "cls");
    uint32_t scope = ms_child_scope(model, cls, "predictions");
    ms_bert_predictions_new(model, b, scope, ms_child_scope(model, scope, "transform"),
                            "LayerNorm");
    if (model->config->head == MS_HEAD_PRETRAINING)
        b->classifier =
            ms_linear_new(model, cls, "seq_relationship", model->hidden, model->labels, true);
    ms_bert_predictions_tie(model, b);
}

static bool build(ms_model *model)
{
    ms_bert *b = ms_bert_new(model, "bert");
    if (!b)
        return false;
    ms_bert_embeddings_new(model, b, model->hidden);
    ms_bert_layers_new(model, b);
    if (has_pooler(model))
        b->pooler = ms_linear_new(model, ms_child_scope(model, b->scope, "pooler"), "dense",
                                  model->hidden, model->hidden, true);
    ms_remake_position_ids(model);
    build_heads(model, b);
    return true;
}

/* ---- forward ---- */

/* tanh(dense(x[:, 0])) */
static ms_tensor pool(ms_model *model, const ms_bert *b, ms_tensor hidden)
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *first = ms_local(&f, ms_select(tape, hidden, 1));
    ms_tensor *pooled = ms_local(&f, ms_linear_call(model, &b->pooler, *first));
    ms_assign(&f, pooled, ms_tanh(tape, *pooled));
    return ms_locals_end(&f, pooled);
}

/* Yields the last hidden states; *pooled: what the pooler makes of them, retained, or 0. */
static ms_tensor run_model(ms_model *model, const ms_bert *b, ms_tensor ids, ms_tensor *pooled)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, b->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *embedded = ms_local(&f, ms_bert_embed(model, b, ids));
    ms_tensor *hidden = ms_bert_layers_run(model, &f, *embedded);
    *pooled = has_pooler(model) ? pool(model, b, *hidden) : 0;
    ms_retain(tape, *pooled);
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* Binds the losses of what there is, and their sum. */
static void add_losses(ms_model *model, ms_locals *f, ms_tensor words, ms_tensor classes,
                       ms_tensor labels, ms_tensor *loss)
{
    if (words)
        ms_assign(f, loss, ms_words_loss(model, words, labels));
    if (words && classes) {
        ms_tensor *first = ms_local(f, *loss);
        ms_tensor *second = ms_local(f, ms_class_loss(model, classes));
        ms_assign(f, loss, ms_add(model->tape, *first, *second));
    } else if (classes) {
        ms_assign(f, loss, ms_class_loss(model, classes));
    }
}

static void forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    ms_tape *tape = model->tape;
    const ms_bert *b = model->modules;
    ms_tensor pooled_output;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_local(&f, run_model(model, b, in->ids, &pooled_output));
    ms_tensor *pooled = ms_local(&f, pooled_output);
    ms_release(tape, pooled_output);
    ms_tensor *words = ms_local(&f, 0), *classes = ms_local(&f, 0), *loss = ms_local(&f, 0);
    if (predicts_words(model))
        ms_assign(&f, words, ms_bert_predict(model, b, *hidden));
    if (model->config->head == MS_HEAD_PRETRAINING)
        ms_assign(&f, classes, ms_linear_call(model, &b->classifier, *pooled));
    if (!predicts_words(model)) {
        ms_tensor *dropped = ms_local(&f, ms_dropout(tape, has_pooler(model) ? *pooled : *hidden,
                                                     model->config->classifier_dropout));
        ms_assign(&f, classes, ms_linear_call(model, &b->classifier, *dropped));
    }
    if (in->keeps_hidden)
        out->hidden = ms_hand_out(tape, *hidden);
    if (in->keeps_logits || !in->labels)
        out->logits = ms_hand_out(tape, *words ? *words : *classes);
    if (in->labels)
        add_losses(model, &f, *words, *classes, in->labels, loss);
    ms_forward_end(&f, loss, out);
}

static const ms_model_program program = {build, forward};

static const ms_family_facts facts = {
    .peft = {.lora = {"query", "value"},
             .ia3 = {"key", "value", "output.dense"},
             .ia3_inputs = {"output.dense"}},
};

const ms_family ms_family_bert = {
    .model_type = "bert",
    .facts = &facts,
    .classes = {{"BertForMaskedLM", MS_HEAD_MASKED_LM},
                {"BertForSequenceClassification", MS_HEAD_FIRST_TOKEN},
                {"BertForTokenClassification", MS_HEAD_EACH_TOKEN},
                {"BertForPreTraining", MS_HEAD_PRETRAINING}},
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .check = ms_check_heads_divide,
    .has_no_mlp_module = true,
    .is_bidirectional = true,
    .program = &program};
