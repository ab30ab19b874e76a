/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * T5: an encoder and a decoder of one shape, with relative positions as a bias of the scores, one
 * table of words for both and, in version 1.0, for the head. The decoder's tokens are the labels,
 * shifted by one.
 */
#include "model/translation/t5_layers.h"

#include <stdio.h>

#include "input/config/model/family.h"
#include "model/blocks/attention/masks.h"
#include "model/encoder/encoder.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"
#include "model/translation/translation.h"
#include "torch/ops/ops.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 32128, MAX_VOCAB),
    { .name = "d_model", .aliases = {"hidden_size"}, .kind = MS_KEY_COUNT,
      .offset = MEMBER(hidden_size), .default_value = 512, .minimum = 1, .maximum = MAX_HIDDEN },
    { .name = "d_kv", .aliases = {"head_dim"}, .kind = MS_KEY_COUNT, .offset = MEMBER(head_dim),
      .default_value = 64, .minimum = 1, .maximum = MAX_HEAD_DIM },
    COUNT("d_ff", intermediate_size, 2048, MAX_INTERMEDIATE),
    { .name = "num_layers", .kind = MS_KEY_COUNT,
      .offset = MEMBER(encoder_layers), .default_value = 6, .minimum = 1, .maximum = MAX_LAYERS / 2 },
    { .name = "num_decoder_layers", .kind = MS_KEY_OPTIONAL, .offset = MEMBER(decoder_layers),
      .default_kind = MS_DEFAULT_SAME_AS, .default_offset = MEMBER(encoder_layers),
      .null_kind = MS_DEFAULT_SAME_AS, .minimum = 1, .maximum = MAX_LAYERS / 2 },
    /* the encoder's alone: the decoder's were counted by then */
    { .name = "num_hidden_layers", .kind = MS_KEY_OPTIONAL, .offset = MEMBER(encoder_layers),
      .default_kind = MS_DEFAULT_SAME_AS, .default_offset = MEMBER(encoder_layers),
      .null_kind = MS_DEFAULT_SAME_AS, .minimum = 1, .maximum = MAX_LAYERS / 2 },
    { .name = "num_heads", .aliases = {"num_attention_heads"}, .kind = MS_KEY_COUNT,
      .offset = MEMBER(num_heads), .default_value = 8, .minimum = 1, .maximum = MAX_HEADS },
    COUNT("relative_attention_num_buckets", bias_buckets, 32, MAX_POSITIONS),
    FRACTION("dropout_rate", residual_dropout, 0.1),
    CHOICE("feed_forward_proj", gates_mlp, "relu", "gated-gelu"),
    BOOL("is_encoder_decoder", is_encoder_decoder, true),
    BOOL("tie_word_embeddings", tie_word_embeddings, true),
    IGNORED("relative_attention_max_distance"), IGNORED("layer_norm_epsilon"),
    IGNORED("initializer_factor"), IGNORED("classifier_dropout"), IGNORED("n_positions"),
    IGNORED("decoder_start_token_id"), IGNORED("pad_token_id"), IGNORED("eos_token_id"),
    IGNORED("bos_token_id"), IGNORED("use_cache"), IGNORED("output_past"), IGNORED("is_decoder"),
    IGNORED("dense_act_fn"), IGNORED("is_gated_act"), IGNORED("task_specific_params"),
    IGNORED("gradient_checkpointing"), IGNORED("scale_decoder_outputs"),
};
/* clang-format on */

/* The gated GELU is "gelu_new" here, whatever the name says. */
static ms_status derive(ms_model_config *config, ms_error *err)
{
    (void)err;
    config->num_layers = config->encoder_layers + config->decoder_layers;
    config->attention_dropout = config->embedding_dropout = config->residual_dropout;
    config->activation = config->gates_mlp ? MS_ACTIVATION_GELU_NEW : MS_ACTIVATION_RELU;
    return MS_OK;
}

static ms_status check(const ms_model_config *config, ms_error *err)
{
    if (config->is_encoder_decoder)
        return MS_OK;
    snprintf(err->pointer, sizeof err->pointer, "/is_encoder_decoder");
    return ms_fail(err, MS_ERR_CONFIG, "false: T5's encoder alone is not supported");
}

/* ---- construction ---- */

static ms_t5_attention new_attention(ms_model *model, uint32_t parent, const char *name,
                                     bool has_table)
{
    ms_symbols *s = &model->tape->trace->symbols;
    ms_dim inner = ms_dim_mul(s, model->heads, model->head_dim);
    ms_t5_attention a = {.scope = ms_child_scope(model, parent, name)};
    a.q = ms_linear_new(model, a.scope, "q", model->hidden, inner, false);
    a.k = ms_linear_new(model, a.scope, "k", model->hidden, inner, false);
    a.v = ms_linear_new(model, a.scope, "v", model->hidden, inner, false);
    a.o = ms_linear_new(model, a.scope, "o", inner, model->hidden, false);
    if (has_table) {
        ms_dim buckets = ms_dim_name(s, "N", model->config->bias_buckets);
        a.table =
            ms_embedding_new(model, a.scope, "relative_attention_bias", buckets, model->heads);
        a.table_scope = model->tape->trace->scopes.count - 1;
    }
    return a;
}

/* The part's module in the list `layer` of a layer; its norm comes last. */
static uint32_t new_part(ms_model *model, uint32_t list, uint32_t number)
{
    char name[16];
    snprintf(name, sizeof name, "%u", number);
    return ms_child_scope(model, list, name);
}

static ms_norm_module norm_of_part(ms_model *model, const ms_t5_part *part)
{
    return ms_norm_new(model, part->scope, "layer_norm", model->hidden, false);
}

static void build_mlp(ms_model *model, ms_t5_layer *l)
{
    ms_dim hidden = model->hidden, middle = model->intermediate;
    l->mlp_scope = ms_child_scope(model, l->mlp_part.scope, "DenseReluDense");
    if (model->config->gates_mlp) {
        l->wi = ms_linear_new(model, l->mlp_scope, "wi_0", hidden, middle, false);
        l->gate = ms_linear_new(model, l->mlp_scope, "wi_1", hidden, middle, false);
    } else {
        l->wi = ms_linear_new(model, l->mlp_scope, "wi", hidden, middle, false);
    }
    l->wo = ms_linear_new(model, l->mlp_scope, "wo", middle, hidden, false);
}

static void build_layer(ms_model *model, ms_t5 *t, const ms_t5_stack *stack, uint32_t blocks,
                        uint32_t place)
{
    char name[16];
    uint32_t number = stack->first + place, part = 0;
    snprintf(name, sizeof name, "%u", place);
    ms_t5_layer *l = &t->layers[number];
    l->scope = ms_scope_add(model->tape, blocks, name, number);
    uint32_t list = ms_child_scope(model, l->scope, "layer");
    l->self_part.scope = new_part(model, list, part++);
    l->self = new_attention(model, l->self_part.scope, "SelfAttention", place == 0);
    l->self_part.norm = norm_of_part(model, &l->self_part);
    if (stack->decodes) {
        l->cross_part.scope = new_part(model, list, part++);
        l->cross = new_attention(model, l->cross_part.scope, "EncDecAttention", false);
        l->cross_part.norm = norm_of_part(model, &l->cross_part);
    }
    l->mlp_part.scope = new_part(model, list, part);
    build_mlp(model, l);
    l->mlp_part.norm = norm_of_part(model, &l->mlp_part);
}

/* A table of words that is made and, when all is there, dropped for the shared one; floating. */
static ms_tensor spare_table(ms_model *model)
{
    if (ms_is_made_on_host(model))
        return 0;
    return ms_empty(model->tape, MS_SHAPE(model->vocab, model->hidden), model->run->dtype);
}

static ms_tensor build_stack(ms_model *model, ms_t5 *t, ms_t5_stack *stack, const char *name)
{
    stack->scope = ms_child_scope(model, MS_NONE, name);
    ms_tensor spare = spare_table(model);
    uint32_t blocks = ms_child_scope(model, stack->scope, "block");
    for (uint32_t i = 0; i < stack->count && model->tape->status == MS_OK; i++)
        build_layer(model, t, stack, blocks, i);
    stack->norm = ms_norm_new(model, stack->scope, "final_layer_norm", model->hidden, false);
    return spare;
}

/* The encoder alone. */
static ms_tensor encode(ms_model *model, ms_tensor input);

static bool build(ms_model *model)
{
    ms_tape *tape = model->tape;
    ms_t5 *t = ms_arena_array(model->arena, ms_t5, 1);
    ms_t5_layer *layers = ms_arena_array(model->arena, ms_t5_layer, model->config->num_layers);
    if (!t || !layers)
        return false;
    model->modules = t;
    model->encode = encode;
    t->layers = layers;
    t->encoder = (ms_t5_stack){.count = ms_translation_layers(model, 0), .tokens = model->source};
    t->decoder = (ms_t5_stack){.count = ms_translation_layers(model, MS_LAYER_DECODES),
                               .first = t->encoder.count,
                               .decodes = true,
                               .tokens = model->seq};
    t->embedding = ms_embedding_new(model, MS_NONE, "shared", model->vocab, model->hidden);
    t->embedding_scope = tape->trace->scopes.count - 1;
    ms_tensor spare[2] = {build_stack(model, t, &t->encoder, "encoder")};
    spare[1] = build_stack(model, t, &t->decoder, "decoder");
    t->head = ms_head_new(model, t->embedding);
    ms_consume(tape, spare[0]);
    ms_consume(tape, spare[1]);
    return true;
}

/* ---- forward ---- */

static ms_tensor run_stack(ms_model *model, ms_t5 *t, ms_t5_stack *stack, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    double dropout = model->config->residual_dropout;
    uint32_t previous = ms_scope_enter(tape, stack->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *mask = ms_local(&f, 0); /* an argument, which goes before the others */
    ms_tensor *embeds =
        ms_local(&f, ms_input_embedding(model, t->embedding_scope, t->embedding, 0, ids));
    if (!stack->decodes)
        ms_assign(&f, mask, ms_padding_mask(model, stack->tokens, stack->tokens));
    else if (model->attention == MS_ATTENTION_EAGER)
        ms_assign(&f, mask, ms_causal_mask(model, 0, false));
    stack->mask = *mask;
    stack->cross_mask = *ms_local(
        &f, stack->decodes ? ms_padding_mask(model, stack->tokens, t->encoder.tokens) : 0);
    ms_tensor *hidden = ms_local(&f, ms_dropout(tape, *embeds, dropout));
    ms_t5_run_layers(model, stack, &f, hidden);
    ms_assign(&f, hidden, ms_t5_norm(model, &stack->norm, *hidden));
    ms_assign(&f, hidden, ms_dropout(tape, *hidden, dropout));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static ms_tensor encode(ms_model *model, ms_tensor input)
{
    ms_t5 *t = model->modules;
    ms_tensor encoded = run_stack(model, t, &t->encoder, input);
    ms_retain(model->tape, encoded);
    return encoded;
}

static void forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    ms_tape *tape = model->tape;
    ms_t5 *t = model->modules;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *encoded =
        ms_local(&f, in->encoded ? in->encoded : run_stack(model, t, &t->encoder, in->ids));
    ms_tensor *ids = ms_local(&f, in->encoded ? in->ids : ms_shifted_labels(model));
    t->encoded = *encoded;
    t->decoder.tokens = model->seq;
    ms_tensor *hidden = ms_local(&f, run_stack(model, t, &t->decoder, *ids));
    ms_tensor *output = ms_local(&f, *hidden);
    if (model->config->tie_word_embeddings)
        ms_assign(&f, output, ms_mul_scalar(tape, *output));
    ms_translation_end(model, &f, &t->head, output, in, out);
}

static const ms_model_program program = {build, forward};

static const ms_family_facts facts = {
    .peft = {.lora = {"q", "v"}, .ia3 = {"k", "v", "wo"}, .ia3_inputs = {"wo"}},
};

const ms_family ms_family_t5 = {
    .model_type = "t5",
    .facts = &facts,
    .classes = {{"T5ForConditionalGeneration", MS_HEAD_TARGET_LM}},
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .derive = derive,
    .check = check,
    .layer_kind = ms_translation_kind,
    .has_no_mlp_module = true,
    .always_masks = true,
    .scales_logits = true,
    .unpredicted = MS_UNPREDICTED_DOCUMENTS | MS_UNPREDICTED_HOST_PARAMETERS |
                   MS_UNPREDICTED_PACKED | MS_UNPREDICTED_REENTRANT | MS_UNPREDICTED_F16,
    .program = &program};
