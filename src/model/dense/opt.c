/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * OPT: learned positions with an offset of two rows; norms before or after; embeddings that may be
 * narrower than the layers, with projections.
 */
#include "input/config/model/family.h"
#include "model/blocks/blocks.h"
#include "model/blocks/cache.h"
#include "model/blocks/attention/masks.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "torch/ops/ops.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 50272, MAX_VOCAB),
    { .name = "hidden_size", .aliases = { "d_model" }, .kind = MS_KEY_COUNT,
      .offset = MEMBER(hidden_size), .default_value = 768, .minimum = 1, .maximum = MAX_HIDDEN },
    COUNT("num_hidden_layers", num_layers, 12, MAX_LAYERS),
    COUNT("ffn_dim", intermediate_size, 3072, MAX_INTERMEDIATE),
    COUNT("num_attention_heads", num_heads, 12, MAX_HEADS),
    { .name = "max_position_embeddings", .kind = MS_KEY_COUNT, .offset = MEMBER(max_positions),
      .default_value = 2048, .minimum = 1, .maximum = MAX_POSITIONS, .learned = true },
    { .name = "word_embed_proj_dim", .kind = MS_KEY_OPTIONAL, .offset = MEMBER(embedding_width),
      .default_kind = MS_DEFAULT_SAME_AS, .default_offset = MEMBER(hidden_size),
      .null_kind = MS_DEFAULT_SAME_AS, .minimum = 1, .maximum = MAX_HIDDEN },
    BOOL("do_layer_norm_before", norm_before, true),
    BOOL("_remove_final_layer_norm", drops_final_norm, false),
    BOOL("enable_bias", attention_bias, true),
    BOOL("layer_norm_elementwise_affine", norm_affine, true),
    BOOL("tie_word_embeddings", tie_word_embeddings, true),
    ACTIVATION("activation_function", MS_ACTIVATION_RELU),
    FRACTION("dropout", residual_dropout, 0.1),
    FRACTION("attention_dropout", attention_dropout, 0),
    FRACTION("layerdrop", layer_drop, 0),
    PAD_TOKEN,
    IGNORED("init_std"),
    IGNORED("use_cache"),
    IGNORED("bos_token_id"),
    IGNORED("eos_token_id"),
    IGNORED("activation_dropout"),
    IGNORED("prefix"),
};
/* clang-format on */

static ms_status check(const ms_model_config *config, ms_error *err)
{
    if (config->layer_drop <= 0)
        return MS_OK;
    snprintf(err->pointer, sizeof err->pointer, "/layerdrop");
    return ms_fail(err, MS_ERR_CONFIG, "layers skipped at random are not supported, only 0 is");
}

typedef struct layer {
    uint32_t scope, attention_scope;
    ms_linear_module k_proj, v_proj, q_proj, out_proj, fc1, fc2;
    ms_norm_module attention_norm, final_norm;
} layer;

typedef struct opt {
    uint32_t scope, tokens_scope, positions_scope;
    ms_tensor tokens, positions;
    ms_linear_module project_out, project_in, head;
    bool projects, has_final_norm;
    ms_norm_module final_norm;
    layer *layers;
    ms_tensor mask;
} opt;

/* ---- construction ---- */

static ms_norm_module norm_new(ms_model *model, uint32_t parent, const char *name)
{
    if (model->config->norm_affine)
        return ms_norm_new(model, parent, name, model->hidden, true);
    return (ms_norm_module){.scope = ms_scope_add(model->tape, parent, name, MS_NONE)};
}

static void build_layer(ms_model *model, opt *o, uint32_t parent, uint32_t number)
{
    char name[16];
    snprintf(name, sizeof name, "%u", number);
    layer *l = &o->layers[number];
    bool bias = model->config->attention_bias;
    ms_dim hidden = model->hidden, middle = model->intermediate;
    l->scope = ms_scope_add(model->tape, parent, name, number);
    uint32_t scope = l->attention_scope = ms_scope_add(model->tape, l->scope, "self_attn", MS_NONE);
    l->k_proj = ms_linear_new(model, scope, "k_proj", hidden, hidden, bias);
    l->v_proj = ms_linear_new(model, scope, "v_proj", hidden, hidden, bias);
    l->q_proj = ms_linear_new(model, scope, "q_proj", hidden, hidden, bias);
    l->out_proj = ms_linear_new(model, scope, "out_proj", hidden, hidden, bias);
    l->attention_norm = norm_new(model, l->scope, "self_attn_layer_norm");
    l->fc1 = ms_linear_new(model, l->scope, "fc1", hidden, middle, bias);
    l->fc2 = ms_linear_new(model, l->scope, "fc2", middle, hidden, bias);
    l->final_norm = norm_new(model, l->scope, "final_layer_norm");
}

static void build_embeddings(ms_model *model, opt *o)
{
    const ms_model_config *config = model->config;
    ms_symbols *s = &model->tape->trace->symbols;
    ms_dim width = model->hidden;
    o->projects = config->embedding_width != config->hidden_size;
    if (o->projects)
        width = ms_dim_name(s, "W", config->embedding_width);
    ms_dim rows = ms_dim_add(s, ms_dim_name(s, "P", config->max_positions), ms_dim_number(s, 2));
    o->tokens = ms_embedding_new(model, o->scope, "embed_tokens", model->vocab, width);
    o->tokens_scope = model->tape->trace->scopes.count - 1;
    o->positions = ms_embedding_new(model, o->scope, "embed_positions", rows, model->hidden);
    o->positions_scope = model->tape->trace->scopes.count - 1;
    if (!o->projects)
        return;
    o->project_out = ms_linear_new(model, o->scope, "project_out", model->hidden, width, false);
    o->project_in = ms_linear_new(model, o->scope, "project_in", width, model->hidden, false);
}

static bool build(ms_model *model)
{
    const ms_model_config *config = model->config;
    ms_tape *tape = model->tape;
    opt *o = ms_arena_array(model->arena, opt, 1);
    layer *layers = ms_arena_array(model->arena, layer, config->num_layers);
    if (!o || !layers)
        return false;
    model->modules = o;
    model->softmax_in_fp32 = true;
    o->layers = layers;
    o->scope =
        ms_scope_add(tape, ms_scope_add(tape, MS_NONE, "model", MS_NONE), "decoder", MS_NONE);
    build_embeddings(model, o);
    o->has_final_norm = config->norm_before && !config->drops_final_norm;
    if (o->has_final_norm)
        o->final_norm = norm_new(model, o->scope, "final_layer_norm");
    uint32_t parent = ms_scope_add(tape, o->scope, "layers", MS_NONE);
    for (uint32_t i = 0; i < config->num_layers && tape->status == MS_OK; i++)
        build_layer(model, o, parent, i);
    o->head = ms_head_new(model, o->tokens);
    return true;
}

/* ---- forward ---- */

static ms_tensor attention(ms_model *model, uint64_t number, ms_tensor mask, ms_tensor x,
                           ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const layer *l = &((const opt *)model->modules)->layers[number];
    uint32_t previous = ms_scope_enter(tape, l->attention_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    /* Scaled here: the call below scales by 1. */
    ms_tensor *query =
        ms_local(&f, ms_mul_scalar(tape, ms_linear_call(model, &l->q_proj, *hidden)));
    ms_assign(&f, query, ms_as_heads(model, *query, model->heads));
    ms_tensor *key = ms_local(&f, ms_linear_call(model, &l->k_proj, *hidden));
    ms_tensor *value = ms_local(&f, ms_linear_call(model, &l->v_proj, *hidden));
    ms_assign(&f, key, ms_as_heads(model, *key, model->heads));
    ms_assign(&f, value, ms_as_heads(model, *value, model->heads));
    ms_cache_append(model, &f, number, key, value);
    ms_tensor *output =
        ms_attend_merged(model, &f, number, (ms_tensor[]){*query, *key, *value}, mask, weights);
    ms_assign(&f, output, ms_linear_call(model, &l->out_proj, *output));
    ms_tensor result = ms_locals_end(&f, output);
    ms_unown(tape, *weights);
    tape->scope = previous;
    return result;
}

/* fc2(act(fc1(x))) over the rows of the tokens, with its norm and residual. */
static void feed_forward(ms_model *model, const layer *l, ms_locals *f, ms_tensor *hidden,
                         ms_tensor *residual)
{
    ms_tape *tape = model->tape;
    bool norm_before = model->config->norm_before;
    ms_dim tokens = ms_dim_mul(&tape->trace->symbols, model->batch, model->seq);
    ms_assign(f, hidden, ms_reshape(tape, *hidden, MS_SHAPE(tokens, model->hidden)));
    ms_assign(f, residual, *hidden);
    if (norm_before)
        ms_assign(f, hidden, ms_layer_norm_call(model, &l->final_norm, *hidden));
    ms_assign(f, hidden, ms_linear_call(model, &l->fc1, *hidden));
    ms_assign(f, hidden, ms_activation_call(model, *hidden));
    ms_assign(f, hidden, ms_linear_call(model, &l->fc2, *hidden));
    ms_assign(f, hidden, ms_dropout(tape, *hidden, model->config->residual_dropout));
    ms_tensor sum = ms_add(tape, *residual, *hidden);
    ms_assign(f, hidden, ms_view(tape, sum, MS_SHAPE(model->batch, model->seq, model->hidden)));
    if (!norm_before)
        ms_assign(f, hidden, ms_layer_norm_call(model, &l->final_norm, *hidden));
}

static ms_tensor run_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    const opt *o = model->modules;
    const layer *l = &o->layers[number];
    bool norm_before = model->config->norm_before;
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor *residual = ms_local(&f, *hidden);
    if (norm_before)
        ms_assign(&f, hidden, ms_layer_norm_call(model, &l->attention_norm, *hidden));
    ms_tensor weights;
    ms_assign(&f, hidden, attention(model, number, o->mask, *hidden, &weights));
    ms_local(&f, weights);
    ms_assign(&f, hidden, ms_dropout(tape, *hidden, model->config->residual_dropout));
    ms_assign(&f, hidden, ms_add(tape, *residual, *hidden));
    if (!norm_before)
        ms_assign(&f, hidden, ms_layer_norm_call(model, &l->attention_norm, *hidden));
    feed_forward(model, l, &f, hidden, residual);
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static ms_tensor embed(ms_model *model, uint32_t scope, ms_tensor weight, ms_tensor ids)
{
    uint32_t previous = ms_scope_enter(model->tape, scope);
    ms_tensor out = ms_embedding(model->tape, weight, ids);
    model->tape->scope = previous;
    return out;
}

/* (cumsum(mask) * mask - 1).long(), of a mask of ones, cut to the pass's own tokens; or those that
 * the caller has. Binds the mask after `position_ids`. */
static void make_position_ids(ms_model *model, ms_locals *f, ms_tensor *position_ids)
{
    ms_tape *tape = model->tape;
    ms_shape tokens = MS_SHAPE(model->batch, ms_cache_seen(model));
    ms_tensor *mask = ms_local(f, ms_empty(tape, tokens, MS_DTYPE_F32));
    if (model->position_ids) {
        ms_assign(f, position_ids, model->position_ids);
        return;
    }
    ms_assign(f, position_ids, ms_cumsum_last(tape, *mask));
    ms_tensor masked = ms_add_scalar(tape, ms_mul(tape, *position_ids, *mask));
    ms_assign(f, position_ids, ms_to(tape, masked, MS_DTYPE_I64));
    if (model->cache)
        ms_assign(f, position_ids, ms_narrow(tape, *position_ids, 1, model->seq));
}

static ms_tensor call_layer(ms_model *model, uint32_t number, ms_tensor hidden,
                            ms_tensor position_ids)
{
    const opt *o = model->modules;
    ms_region region = {
        .run = run_layer, .context = model, .number = number, .held = {o->mask, position_ids}};
    return ms_layer_call(model, &region, hidden);
}

static ms_tensor run_decoder(ms_model *model, opt *o, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, o->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *embeds = ms_local(&f, ms_input_embedding(model, o->tokens_scope, o->tokens, 0, ids));
    ms_tensor *position_ids = ms_local(&f, 0);
    make_position_ids(model, &f, position_ids);
    ms_tensor *mask = ms_local(&f, ms_causal_mask(model, 0, false));
    o->mask = *mask;
    ms_tensor *positions = ms_local(
        &f, embed(model, o->positions_scope, o->positions, ms_add_scalar(tape, *position_ids)));
    if (o->projects)
        ms_assign(&f, embeds, ms_linear_call(model, &o->project_in, *embeds));
    ms_tensor *hidden = ms_local(&f, ms_add(tape, *embeds, *positions));
    for (uint32_t i = 0; i < model->config->num_layers && tape->status == MS_OK; i++)
        ms_assign(&f, hidden, call_layer(model, i, *hidden, *position_ids));
    if (o->has_final_norm)
        ms_assign(&f, hidden, ms_layer_norm_call(model, &o->final_norm, *hidden));
    if (o->projects)
        ms_assign(&f, hidden, ms_linear_call(model, &o->project_out, *hidden));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static void forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    ms_tape *tape = model->tape;
    opt *o = model->modules;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_local(&f, run_decoder(model, o, in->ids));
    ms_forward_end(&f, ms_head_call(model, &f, &o->head, *hidden, in, out), out);
}

static const ms_model_program program = {build, forward};

static const ms_family_facts facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .peft = {.lora = {"q_proj", "v_proj"},
             .ia3 = {"q_proj", "k_proj", "fc2"},
             .ia3_inputs = {"fc2"}},
};

const ms_family ms_family_opt = {.model_type = "opt",
                                 .facts = &facts,
                                 .unpredicted = MS_UNPREDICTED_DOCUMENTS,
                                 .classes = {{"OPTForCausalLM", MS_HEAD_CAUSAL_LM},
                                             {"OPTForSequenceClassification", MS_HEAD_LAST_TOKEN}},
                                 .keys = keys,
                                 .key_count = sizeof keys / sizeof *keys,
                                 .check = check,
                                 .has_no_mlp_module = true,
                                 .takes_cache = true,
                                 .counts_seen = true,
                                 .program = &program};
