/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ELECTRA: BERT's embeddings, narrower than the layers, and its layers, without a pooler. The
 * generator predicts masked words; the discriminator is trained on classes.
 */
#include "model/encoder/bert_keys.h"
#include "model/encoder/bert_layers.h"
#include "model/family/family_list.h"
#include "torch/ops/ops.h"

/* clang-format off */
static const ms_key keys[] = {
    BERT_SIZES(30522, 256, 4, 1024),
    COUNT("embedding_size", embedding_width, 128, MAX_HIDDEN),
    BERT_KEYS,
    IGNORED("pad_token_id"),
    IGNORED("summary_type"),
    IGNORED("summary_use_proj"),
    IGNORED("summary_activation"),
    IGNORED("summary_last_dropout"),
};
/* clang-format on */

static ms_dim width_of(ms_model *model)
{
    const ms_model_config *config = model->config;
    if (config->embedding_width == config->hidden_size)
        return model->hidden;
    return ms_dim_name(&model->tape->trace->symbols, "E", config->embedding_width);
}

/* ---- construction ---- */

/* The generator's head is made with a weight of its own, which tying drops for the embedding. */
static void build_generator(ms_model *model, ms_bert *b, ms_dim width)
{
    ms_tape *tape = model->tape;
    ms_tensor dropped = 0;
    uint32_t scope = ms_child_scope(model, MS_NONE, "generator_predictions");
    b->transform_norm = ms_norm_new(model, scope, "LayerNorm", width, true);
    b->transform = ms_linear_new(model, scope, "dense", model->hidden, width, true);
    if (!model->config->tie_word_embeddings) {
        b->decoder = ms_linear_new(model, MS_NONE, "generator_lm_head", width, model->vocab, true);
        return;
    }
    b->decoder = (ms_linear_module){.scope = ms_child_scope(model, MS_NONE, "generator_lm_head"),
                                    .weight = b->words.weight};
    if (!ms_is_made_on_host(model))
        dropped = ms_empty(tape, MS_SHAPE(model->vocab, width), model->run->dtype);
    b->decoder.bias = ms_parameter_new(model, b->decoder.scope, "bias", MS_SHAPE(model->vocab));
    ms_consume(tape, dropped);
    ms_bias_pad(model, b->decoder.bias);
}

static bool build(ms_model *model)
{
    ms_dim width = width_of(model);
    ms_bert *b = ms_bert_new(model, "electra");
    if (!b)
        return false;
    ms_bert_embeddings_new(model, b, width);
    if (width.value != model->hidden.value)
        b->widening =
            ms_linear_new(model, b->scope, "embeddings_project", width, model->hidden, true);
    ms_bert_layers_new(model, b);
    ms_remake_position_ids(model);
    if (model->config->head == MS_HEAD_MASKED_LM)
        build_generator(model, b, width);
    else
        ms_bert_classifier_new(model, b);
    return true;
}

/* ---- forward ---- */

/* Widened to the layers' width. */
static ms_tensor embed(ms_model *model, const ms_bert *b, ms_tensor ids)
{
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor *embedded = ms_local(&f, ms_bert_embed(model, b, ids));
    if (b->widening.weight)
        ms_assign(&f, embedded, ms_linear_call(model, &b->widening, *embedded));
    return ms_locals_end(&f, embedded);
}

static void forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    ms_bert_forward(model, &(ms_bert_style){embed, ms_gelu, ms_gelu}, in, out);
}

static const ms_model_program program = {build, forward};

static const ms_family_facts facts = {
    .peft = {.lora = {"query", "value"}},
};

const ms_family ms_family_electra = {
    .model_type = "electra",
    .facts = &facts,
    .classes = {{"ElectraForMaskedLM", MS_HEAD_MASKED_LM},
                {"ElectraForSequenceClassification", MS_HEAD_FIRST_TOKEN},
                {"ElectraForTokenClassification", MS_HEAD_EACH_TOKEN}},
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .check = ms_check_heads_divide,
    .has_no_mlp_module = true,
    .is_bidirectional = true,
    .program = &program};
