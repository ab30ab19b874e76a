/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Falcon: three generations in one class. Fused query, key and value projection; one key head or
 * groups; attention and MLP in parallel or sequential; rotary embeddings or ALiBi. Its attention
 * always gets a mask.
 */
#include "model/dense/falcon/falcon.h"

#include "input/config/model/family.h"
#include "model/blocks/attention/masks.h"
#include "model/blocks/cache.h"
#include "model/blocks/packed/quantized.h"
#include "model/decoder/alibi.h"
#include "model/dense/falcon/falcon_attention.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "torch/ops/ops.h"

/* The first files, RefinedWebModel (7B) and RefinedWeb (40B), have other names for some keys, and
 * do not say which architecture they are. */
/* clang-format off */
#define COMMON_KEYS(is_new)                                                                        \
    COUNT("vocab_size", vocab_size, 65024, MAX_VOCAB),                                             \
    { .name = "hidden_size", .aliases = { "n_embed" }, .kind = MS_KEY_COUNT,                       \
      .offset = MEMBER(hidden_size), .default_value = 4544, .minimum = 1, .maximum = MAX_HIDDEN }, \
    { .name = "num_hidden_layers", .aliases = { "n_layer" }, .kind = MS_KEY_COUNT,                 \
      .offset = MEMBER(num_layers), .default_value = 32, .minimum = 1, .maximum = MAX_LAYERS },    \
    { .name = "num_attention_heads", .aliases = { "n_head" }, .kind = MS_KEY_COUNT,                \
      .offset = MEMBER(num_heads), .default_value = 71, .minimum = 1, .maximum = MAX_HEADS },      \
    { .name = "num_kv_heads", .aliases = { "n_head_kv" }, .kind = MS_KEY_OPTIONAL,                 \
      .offset = MEMBER(num_kv_heads), .default_kind = MS_DEFAULT_SAME_AS,                          \
      .default_offset = MEMBER(num_heads), .null_kind = MS_DEFAULT_SAME_AS, .minimum = 1,          \
      .maximum = MAX_HEADS },                                                                      \
    OPTIONAL("ffn_hidden_size", intermediate_size, MS_DEFAULT_FOUR_HIDDEN, 0,                      \
             MS_DEFAULT_FOUR_HIDDEN, 0, MAX_INTERMEDIATE),                                         \
    { .name = "num_ln_in_parallel_attn", .kind = MS_KEY_OPTIONAL, .offset = MEMBER(parallel_norms),  \
      .default_value = -1, .null_kind = MS_DEFAULT_VALUE, .null_value = UINT64_MAX, .minimum = 1,  \
      .maximum = 2 },                                                                                   \
    COUNT("max_position_embeddings", max_positions, 2048, MAX_POSITIONS),                          \
    BOOL("new_decoder_architecture", groups_kv, is_new),                                           \
    BOOL("multi_query", shares_kv, true),                                                          \
    BOOL("parallel_attn", is_parallel, true),                                                      \
    BOOL("alibi", alibi, false),                                                                   \
    BOOL("bias", attention_bias, false),                                                           \
    BOOL("tie_word_embeddings", tie_word_embeddings, true),                                        \
    ACTIVATION("activation", MS_ACTIVATION_GELU),                                                  \
    FRACTION("hidden_dropout", residual_dropout, 0),                                               \
    FRACTION("attention_dropout", attention_dropout, 0),                                           \
    PAD_TOKEN,                                                                                     \
    FIXED("apply_residual_connection_post_layernorm", false),                                      \
    IGNORED("layer_norm_epsilon"),                                                                 \
    DECODER_IGNORED
/* clang-format on */

static const ms_key keys[] = {COMMON_KEYS(false)};
static const ms_key grouped_keys[] = {COMMON_KEYS(true)};

static ms_status refuse(ms_error *err, const char *key, const char *reason)
{
    snprintf(err->pointer, sizeof err->pointer, "/%s", key);
    return ms_fail(err, MS_ERR_CONFIG, "%s", reason);
}

/* What the class makes of keys that depend on each other. */
static ms_status derive(ms_model_config *config, ms_error *err)
{
    if (!config->groups_kv && !config->shares_kv && config->num_kv_heads != config->num_heads)
        return refuse(
            err, "num_kv_heads",
            "without new_decoder_architecture and multi_query every head has its own key");
    if (config->groups_kv && !config->is_parallel)
        return refuse(err, "parallel_attn",
                      "new_decoder_architecture has attention and MLP side by side");
    if (config->parallel_norms == UINT64_MAX)
        config->parallel_norms = config->groups_kv ? 2 : 1;
    if (config->parallel_norms == 2 && !config->groups_kv && config->is_parallel)
        return refuse(err, "num_ln_in_parallel_attn",
                      "two norms need new_decoder_architecture; the class has no forward for them");
    if (!config->groups_kv && config->shares_kv)
        config->num_kv_heads = 1;
    config->broadcasts_kv =
        config->num_kv_heads == 1 && !config->groups_kv && config->num_heads > 1;
    config->mixing_dropout = config->attention_dropout;
    if (!config->alibi) /* then the probabilities are not dropped */
        config->attention_dropout = 0;
    return MS_OK;
}

/* ---- construction ---- */

static void build_norms(ms_model *model, ms_falcon_layer *l)
{
    const ms_model_config *config = model->config;
    ms_dim hidden = model->hidden;
    if (!config->is_parallel) {
        l->mlp_norm = ms_norm_new(model, l->scope, "post_attention_layernorm", hidden, true);
        l->attention_norm = ms_norm_new(model, l->scope, "input_layernorm", hidden, true);
    } else if (config->parallel_norms == 2) {
        l->attention_norm = ms_norm_new(model, l->scope, "ln_attn", hidden, true);
        l->mlp_norm = ms_norm_new(model, l->scope, "ln_mlp", hidden, true);
    } else {
        l->attention_norm = ms_norm_new(model, l->scope, "input_layernorm", hidden, true);
    }
}

static void build_layer(ms_model *model, ms_falcon *d, uint32_t parent, uint32_t number)
{
    char name[16];
    snprintf(name, sizeof name, "%u", number);
    ms_symbols *s = &model->tape->trace->symbols;
    ms_falcon_layer *l = &d->layers[number];
    bool bias = model->config->attention_bias;
    ms_dim hidden = model->hidden, middle = model->intermediate;
    ms_dim both = ms_dim_mul(s, ms_dim_number(s, 2), model->kv_heads);
    ms_dim fused = ms_dim_mul(s, ms_dim_add(s, both, model->heads), model->head_dim);
    l->scope = ms_scope_add(model->tape, parent, name, number);
    uint32_t scope = l->attention_scope =
        ms_scope_add(model->tape, l->scope, "self_attention", MS_NONE);
    l->query_key_value = ms_linear_new(model, scope, "query_key_value", hidden, fused, bias);
    l->dense = ms_linear_new(model, scope, "dense", hidden, hidden, bias);
    scope = l->mlp_scope = ms_scope_add(model->tape, l->scope, "mlp", MS_NONE);
    l->up = ms_linear_new(model, scope, "dense_h_to_4h", hidden, middle, bias);
    l->down = ms_linear_new(model, scope, "dense_4h_to_h", middle, hidden, bias);
    build_norms(model, l);
}

static bool build(ms_model *model)
{
    ms_tape *tape = model->tape;
    uint64_t count = model->config->num_layers;
    ms_falcon *d = ms_arena_array(model->arena, ms_falcon, 1);
    ms_falcon_layer *layers = ms_arena_array(model->arena, ms_falcon_layer, count);
    if (!d || !layers)
        return false;
    model->modules = d;
    d->layers = layers;
    d->scope = ms_scope_add(tape, MS_NONE, "transformer", MS_NONE);
    d->embedding =
        ms_embedding_new(model, d->scope, "word_embeddings", model->vocab, model->hidden);
    d->embedding_scope = tape->trace->scopes.count - 1;
    uint32_t parent = ms_scope_add(tape, d->scope, "h", MS_NONE);
    for (uint32_t i = 0; i < count && tape->status == MS_OK; i++)
        build_layer(model, d, parent, i);
    d->norm = ms_norm_new(model, d->scope, "ln_f", model->hidden, true);
    ms_rotary_new(model, d->scope, 1, &d->inv_freq[0], &d->inv_freq[1]);
    d->rotary_scope = tape->trace->scopes.count - 1;
    d->head = ms_head_new(model, d->embedding);
    return true;
}

/* ---- layer ---- */

static ms_tensor mlp(ms_tape *tape, void *context, uint64_t number, ms_tensor x)
{
    ms_model *model = context;
    const ms_falcon *d = model->modules;
    const ms_falcon_layer *l = &d->layers[number];
    uint32_t previous = ms_scope_enter(tape, l->mlp_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_assign(&f, hidden, ms_activation_call(model, ms_falcon_linear(model, &l->up, *hidden)));
    ms_assign(&f, hidden, ms_falcon_linear(model, &l->down, *hidden));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* residual + dropout(x) */
static ms_tensor dropout_add(ms_tape *tape, ms_tensor x, ms_tensor residual, double p)
{
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *out = ms_local(&f, ms_dropout(tape, x, p));
    ms_assign(&f, out, ms_add(tape, residual, *out));
    return ms_locals_end(&f, out);
}

static ms_tensor run_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    const ms_model_config *config = model->config;
    ms_falcon *d = model->modules;
    const ms_falcon_layer *l = &d->layers[number];
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor *residual = ms_local(&f, *hidden);
    ms_tensor *attention_norm =
        ms_local(&f, ms_layer_norm_call(model, &l->attention_norm, *hidden));
    ms_tensor *mlp_norm = ms_local(&f, 0);
    if (config->is_parallel && config->parallel_norms == 2)
        ms_assign(&f, mlp_norm, ms_layer_norm_call(model, &l->mlp_norm, *hidden));
    ms_tensor weights;
    ms_tensor *attended = ms_local(&f, ms_falcon_attention(model, d, l, *attention_norm, &weights));
    ms_tensor *probabilities = ms_local(&f, weights);
    if (!config->is_parallel) {
        ms_assign(&f, residual, dropout_add(tape, *attended, *residual, config->mixing_dropout));
        ms_assign(&f, mlp_norm, ms_layer_norm_call(model, &l->mlp_norm, *residual));
    } else if (config->parallel_norms == 1) {
        ms_assign(&f, mlp_norm, *attention_norm);
    }
    const ms_region region = {.run = mlp, .context = model, .number = number};
    ms_tensor *mlp_output = ms_local(&f, ms_mlp_call(model, &region, *mlp_norm));
    if (config->is_parallel)
        ms_assign(&f, mlp_output, ms_add_(tape, *mlp_output, *attended));
    ms_tensor *output =
        ms_local(&f, dropout_add(tape, *mlp_output, *residual, config->residual_dropout));
    ms_weights_hand_out(tape, *probabilities, &d->weights);
    ms_tensor result = ms_locals_end(&f, output);
    tape->scope = previous;
    return result;
}

/* ---- forward ---- */

/* build_alibi_tensor: the slopes times the positions, in bf16, then in the dtype of the weights:
 * [B, H, 1, S] */
static ms_tensor make_alibi(ms_model *model, ms_tensor mask)
{
    ms_tape *tape = model->tape;
    ms_dim one = {.value = 1}, b = model->batch, h = model->heads, n = ms_cache_seen(model);
    ms_locals f = ms_locals_begin(tape);
    (void)ms_alibi_slopes(model, &f);
    ms_tensor positions = ms_add_scalar(tape, ms_cumsum_last(tape, mask));
    ms_tensor *range = ms_local(&f, ms_mul(tape, positions, mask));
    ms_tensor slopes = ms_empty(tape, MS_SHAPE(h, one), MS_DTYPE_BF16);
    ms_tensor *alibi =
        ms_local(&f, ms_mul(tape, slopes, ms_view(tape, *range, MS_SHAPE(b, one, n))));
    ms_assign(&f, alibi, ms_view(tape, *alibi, MS_SHAPE(b, h, one, n)));
    ms_tensor out = ms_to(tape, *alibi, ms_unpacked_dtype(model));
    ms_retain(tape, out);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, out);
}

/* masked_fill(alibi / sqrt(D), mask < -1, lowest): as large as the scores. */
static void join_alibi(ms_model *model, ms_locals *f, ms_tensor *mask, ms_tensor alibi)
{
    ms_tape *tape = model->tape;
    ms_dim seen = ms_cache_keys(model, 0);
    if (model->attention != MS_ATTENTION_EAGER)
        ms_assign(f, mask,
                  ms_additive_mask(tape, model->batch, model->seq, seen, ms_unpacked_dtype(model)));
    ms_tensor scaled = ms_div_scalar(tape, alibi);
    ms_tensor hidden = ms_compare(tape, *mask, 0);
    ms_tensor filled = ms_empty(tape, MS_SHAPE(model->batch, model->heads, model->seq, seen),
                                ms_unpacked_dtype(model));
    ms_consume(tape, scaled);
    ms_consume(tape, hidden);
    ms_assign(f, mask, filled);
}

static ms_tensor call_layer(ms_model *model, uint32_t number, ms_tensor hidden)
{
    const ms_falcon *d = model->modules;
    ms_region region = {.run = run_layer,
                        .context = model,
                        .number = number,
                        .held = {d->mask, d->position_ids, d->alibi, d->sin, d->cos}};
    return ms_layer_call(model, &region, hidden);
}

static void make_masks(ms_model *model, ms_falcon *d, ms_locals *f, ms_tensor *position_ids)
{
    ms_tape *tape = model->tape;
    ms_tensor *alibi = ms_local(f, 0), *tokens = ms_local(f, 0);
    if (model->config->alibi) {
        ms_tensor given = model->cache ? 0 : model->attention_mask;
        ms_shape shape = MS_SHAPE(model->batch, ms_cache_seen(model));
        ms_assign(f, tokens, given ? given : ms_empty(tape, shape, MS_DTYPE_I64));
        ms_assign(f, alibi, make_alibi(model, *tokens));
    }
    ms_assign(f, position_ids, ms_position_ids(model));
    ms_tensor *mask = ms_local(f, ms_full_mask(model));
    if (model->config->alibi)
        join_alibi(model, f, mask, *alibi);
    d->mask = *mask;
    d->alibi = *alibi;
}

static ms_tensor run_model(ms_model *model, ms_falcon *d, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, d->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *position_ids = ms_local(&f, 0);
    ms_tensor *embeds =
        ms_local(&f, ms_input_embedding(model, d->embedding_scope, d->embedding, 0, ids));
    make_masks(model, d, &f, position_ids);
    ms_tensor *hidden = ms_local(&f, *embeds);
    ms_tensor rotary[2] = {0};
    ms_rotary_call(model, d->rotary_scope, d->inv_freq[0], *position_ids, ms_unpacked_dtype(model),
                   rotary);
    d->sin = *ms_local(&f, rotary[1]); /* of the tuple the last goes first */
    d->cos = *ms_local(&f, rotary[0]);
    d->position_ids = *position_ids;
    ms_layers_with_weights(model, &f, hidden, &d->weights, call_layer);
    ms_assign(&f, hidden, ms_layer_norm_call(model, &d->norm, *hidden));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static void forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    ms_falcon *d = model->modules;
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor *hidden = ms_local(&f, run_model(model, d, in->ids));
    ms_forward_end(&f, ms_head_call(model, &f, &d->head, *hidden, in, out), out);
}

static const ms_model_program program = {build, forward};

static const ms_family_facts falcon_facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .peft = {.lora = {"query_key_value"},
             .ia3 = {"query_key_value", "dense_4h_to_h"},
             .ia3_inputs = {"dense_4h_to_h"}},
    .has_own_linear = true,
    .has_code_of_its_own = true,
};

static const ms_family_facts refinedwebmodel_facts = {
    .peft = {.lora = {"query_key_value"},
             .ia3 = {"query_key_value", "dense_4h_to_h"},
             .ia3_inputs = {"dense_4h_to_h"}},
};

static const ms_family_facts refinedweb_facts = {
    .peft = {.lora = {"query_key_value"},
             .ia3 = {"query_key_value", "dense_4h_to_h"},
             .ia3_inputs = {"dense_4h_to_h"}},
};

#define FALCON(type, table, known)                                                                 \
    {                                                                                              \
        .model_type = type, .keys = table, .key_count = sizeof table / sizeof *table,              \
        .classes = {{"FalconForCausalLM", MS_HEAD_CAUSAL_LM},                                      \
                    {"FalconForSequenceClassification", MS_HEAD_LAST_TOKEN},                       \
                    {"RWForCausalLM", MS_HEAD_CAUSAL_LM},                                          \
                    {"RWForSequenceClassification", MS_HEAD_LAST_TOKEN}},                          \
        .derive = derive, .always_masks = true, .takes_cache = true, .program = &program,          \
        .facts = known, .unpredicted = MS_UNPREDICTED_DOCUMENTS                                    \
    }

const ms_family ms_family_falcon = FALCON("falcon", keys, &falcon_facts);
const ms_family ms_family_refined_web_model =
    FALCON("RefinedWebModel", keys, &refinedwebmodel_facts);
const ms_family ms_family_refined_web = FALCON("RefinedWeb", grouped_keys, &refinedweb_facts);
