/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * RoBERTa: BERT's layers, positions that are counted from the token ids, no pooler. XLM-RoBERTa and
 * CamemBERT differ in names, in vocabularies, and in what is made first.
 */
#include "model/encoder/bert_keys.h"
#include "model/encoder/bert_layers.h"
#include "model/family/family_list.h"
#include "torch/ops/moe/routing.h"
#include "torch/ops/ops.h"

/* clang-format off */
#define KEYS(vocab) BERT_SIZES(vocab, 768, 12, 3072), BERT_KEYS, PAD_TOKEN_OR(1)

static const ms_key roberta_keys[] = { KEYS(50265) };
static const ms_key other_keys[] = { KEYS(30522) };
/* clang-format on */

/* Positions are counted from the padding token's id. */
static ms_status derive(ms_model_config *config, ms_error *err)
{
    const char *reason = NULL;
    if (config->pad_token_id == UINT64_MAX)
        reason = "null, but positions are counted from it";
    else if (config->pad_token_id + 1 >= config->max_positions)
        reason = "leaves no position of max_position_embeddings to a token";
    if (reason) {
        snprintf(err->pointer, sizeof err->pointer, "/pad_token_id");
        return ms_fail(err, MS_ERR_CONFIG, "%s", reason);
    }
    config->skipped_positions = config->pad_token_id + 1;
    return MS_OK;
}

/* ---- construction ---- */

static void build_embeddings(ms_model *model, ms_bert *b)
{
    const ms_model_config *config = model->config;
    ms_symbols *s = &model->tape->trace->symbols;
    ms_dim positions = ms_dim_name(s, "P", config->max_positions);
    uint32_t scope = b->embeddings_scope = ms_child_scope(model, b->scope, "embeddings");
    b->words = ms_learned_table_new(model, scope, "word_embeddings", model->vocab);
    b->types = ms_learned_table_new(model, scope, "token_type_embeddings",
                                    ms_dim_name(s, "T", config->sentence_types));
    b->embeddings_norm = ms_norm_new(model, scope, "LayerNorm", model->hidden, true);
    ms_bert_buffers_new(model, b, positions);
    b->positions = ms_learned_table_new(model, scope, "position_embeddings", positions);
}

static void build_head(ms_model *model, ms_bert *b)
{
    if (model->config->head != MS_HEAD_MASKED_LM) {
        ms_bert_classifier_new(model, b);
        return;
    }
    uint32_t scope = ms_child_scope(model, MS_NONE, "lm_head");
    ms_bert_predictions_new(model, b, scope, scope, "layer_norm");
}

/* RoBERTa's classes make the encoder and then the head, the others the head first. */
static bool makes_head_first(const ms_model *model)
{
    return model->config->family != &ms_family_roberta;
}

static bool build(ms_model *model)
{
    ms_bert *b = ms_bert_new(model, "roberta");
    if (!b)
        return false;
    if (makes_head_first(model))
        build_head(model, b);
    build_embeddings(model, b);
    ms_bert_layers_new(model, b);
    ms_remake_position_ids(model);
    if (!makes_head_first(model))
        build_head(model, b);
    if (model->config->head == MS_HEAD_MASKED_LM)
        ms_bert_predictions_tie(model, b);
    return true;
}

/* ---- forward ---- */

/* cumsum(ids != padding) * (ids != padding) + padding, through int32 */
static ms_tensor count_positions(ms_model *model, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *mask = ms_local(&f, ms_to(tape, ms_compare(tape, ids, 0), MS_DTYPE_I32));
    ms_tensor sums = ms_to(tape, ms_cumsum_last(tape, *mask), MS_DTYPE_I32);
    ms_tensor *numbers = ms_local(&f, ms_mul(tape, ms_add_scalar(tape, sums), *mask));
    ms_tensor *out = ms_local(&f, ms_add_scalar(tape, ms_to(tape, *numbers, MS_DTYPE_I64)));
    return ms_locals_end(&f, out);
}

/* The buffer's types at the positions: [B, S]. */
static ms_tensor types_of(ms_model *model, const ms_bert *b, ms_tensor positions)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return 0;
    ms_dim rows = ms_info(tape, b->type_ids)->shape.dims[1];
    ms_tensor types = ms_expand(tape, b->type_ids, MS_SHAPE(model->batch, rows));
    return ms_gather_last(tape, types, positions);
}

static ms_tensor run_embeddings(ms_model *model, const ms_bert *b, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, b->embeddings_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *position_ids = ms_local(&f, count_positions(model, ids));
    ms_tensor *type_ids = ms_local(&f, types_of(model, b, *position_ids));
    ms_tensor result =
        ms_locals_end(&f, ms_bert_join(model, b, &f, (ms_tensor[]){ids, *type_ids, *position_ids}));
    tape->scope = previous;
    return result;
}

static void forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    ms_bert_forward(model, &(ms_bert_style){run_embeddings, ms_gelu, ms_tanh}, in, out);
}

static const ms_model_program program = {build, forward};

static const ms_family_facts roberta_facts = {
    .peft = {.lora = {"query", "value"},
             .ia3 = {"key", "value", "output.dense"},
             .ia3_inputs = {"output.dense"}},
};

static const ms_family_facts xlm_roberta_facts = {
    .peft = {.lora = {"query", "value"}},
};

static const ms_family_facts camembert_facts = {
    .peft = {.usual_lora = "query+value"},
};

/* clang-format off */
#define FAMILY(name, type, class, table)                                                           \
    const ms_family ms_family_##name = {                                                           \
        .model_type = type,                                                                        \
        .classes = {{class "ForMaskedLM", MS_HEAD_MASKED_LM},                                      \
                    {class "ForSequenceClassification", MS_HEAD_FIRST_TOKEN},                      \
                    {class "ForTokenClassification", MS_HEAD_EACH_TOKEN}},                         \
        .keys = table,                                                                             \
        .key_count = sizeof table / sizeof *table,                                                 \
        .derive = derive,                                                                          \
        .check = ms_check_heads_divide,                                                            \
        .has_no_mlp_module = true,                                                                 \
        .is_bidirectional = true,                                                                  \
        .facts = &name##_facts, .program = &program}
/* clang-format on */

FAMILY(roberta, "roberta", "Roberta", roberta_keys);
FAMILY(xlm_roberta, "xlm-roberta", "XLMRoberta", other_keys);
FAMILY(camembert, "camembert", "Camembert", other_keys);
