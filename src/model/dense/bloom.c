/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * BLOOM: ALiBi added by the product of queries and keys itself, a norm behind the embedding, and
 * residuals inside attention and MLP; by the eager function alone.
 */
#include "input/config/model/family.h"
#include "model/blocks/blocks.h"
#include "model/blocks/cache.h"
#include "model/blocks/attention/masks.h"
#include "model/decoder/alibi.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"
#include "torch/ops/moe/experts.h"
#include "torch/ops/ops.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 250880, MAX_VOCAB),
    { .name = "hidden_size", .aliases = { "n_embed" }, .kind = MS_KEY_COUNT,
      .offset = MEMBER(hidden_size), .default_value = 64, .minimum = 1, .maximum = MAX_HIDDEN },
    { .name = "n_layer", .aliases = { "num_hidden_layers" }, .kind = MS_KEY_COUNT,
      .offset = MEMBER(num_layers), .default_value = 2, .minimum = 1, .maximum = MAX_LAYERS },
    { .name = "n_head", .aliases = { "num_attention_heads" }, .kind = MS_KEY_COUNT,
      .offset = MEMBER(num_heads), .default_value = 8, .minimum = 1, .maximum = MAX_HEADS },
    BOOL("apply_residual_connection_post_layernorm", residual_of_norm, false),
    FRACTION("hidden_dropout", residual_dropout, 0),
    FRACTION("attention_dropout", attention_dropout, 0),
    BOOL("tie_word_embeddings", tie_word_embeddings, true),
    FIXED("slow_but_exact", false),
    PAD_TOKEN,
    IGNORED("pretraining_tp"), IGNORED("layer_norm_epsilon"), IGNORED("initializer_range"),
    IGNORED("seq_length"), IGNORED("offset_alibi"), IGNORED("masked_softmax_fusion"),
    IGNORED("attention_softmax_in_fp32"), IGNORED("bias_dropout_fusion"), IGNORED("unk_token_id"),
    IGNORED("skip_bias_add"), IGNORED("skip_bias_add_qkv"), IGNORED("n_inner"),
    IGNORED("use_cache"), IGNORED("bos_token_id"), IGNORED("eos_token_id"),
};
/* clang-format on */

typedef struct block {
    uint32_t scope, attention_scope, mlp_scope;
    ms_norm_module attention_norm, mlp_norm;
    ms_linear_module query_key_value, dense, up, down;
} block;

typedef struct bloom {
    uint32_t scope, embedding_scope;
    ms_tensor embedding;
    ms_norm_module embedding_norm, norm;
    block *blocks;
    ms_linear_module head;
    ms_tensor alibi, mask;
    ms_tensor weights; /* of the last block that ran, retained; 0: none */
} bloom;

static ms_status derive(ms_model_config *config, ms_error *err)
{
    (void)err;
    config->intermediate_size = 4 * config->hidden_size;
    return MS_OK;
}

/* ---- construction ---- */

static void build_block(ms_model *model, bloom *g, uint32_t parent, uint32_t number)
{
    char name[16];
    snprintf(name, sizeof name, "%u", number);
    ms_symbols *s = &model->tape->trace->symbols;
    block *b = &g->blocks[number];
    ms_dim hidden = model->hidden, middle = model->intermediate;
    ms_dim fused = ms_dim_mul(s, ms_dim_number(s, 3), hidden);
    b->scope = ms_scope_add(model->tape, parent, name, number);
    b->attention_norm = ms_norm_new(model, b->scope, "input_layernorm", hidden, true);
    uint32_t scope = ms_scope_add(model->tape, b->scope, "self_attention", MS_NONE);
    b->attention_scope = scope;
    b->query_key_value = ms_linear_new(model, scope, "query_key_value", hidden, fused, true);
    b->dense = ms_linear_new(model, scope, "dense", hidden, hidden, true);
    b->mlp_norm = ms_norm_new(model, b->scope, "post_attention_layernorm", hidden, true);
    b->mlp_scope = ms_scope_add(model->tape, b->scope, "mlp", MS_NONE);
    b->up = ms_linear_new(model, b->mlp_scope, "dense_h_to_4h", hidden, middle, true);
    b->down = ms_linear_new(model, b->mlp_scope, "dense_4h_to_h", middle, hidden, true);
}

static bool build(ms_model *model)
{
    bloom *g = ms_arena_array(model->arena, bloom, 1);
    uint64_t count = model->config->num_layers;
    block *blocks = ms_arena_array(model->arena, block, count);
    if (!g || !blocks)
        return false;
    ms_tape *tape = model->tape;
    model->modules = g;
    g->blocks = blocks;
    g->scope = ms_scope_add(tape, MS_NONE, "transformer", MS_NONE);
    g->embedding =
        ms_embedding_new(model, g->scope, "word_embeddings", model->vocab, model->hidden);
    g->embedding_scope = tape->trace->scopes.count - 1;
    g->embedding_norm =
        ms_norm_new(model, g->scope, "word_embeddings_layernorm", model->hidden, true);
    uint32_t parent = ms_scope_add(tape, g->scope, "h", MS_NONE);
    for (uint32_t i = 0; i < count && tape->status == MS_OK; i++)
        build_block(model, g, parent, i);
    g->norm = ms_norm_new(model, g->scope, "ln_f", model->hidden, true);
    g->head = ms_head_new(model, g->embedding);
    return true;
}

/* ---- layers ---- */

/* residual + dropout(x) */
static ms_tensor dropout_add(ms_model *model, ms_tensor x, ms_tensor residual)
{
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor *out = ms_local(&f, ms_dropout(model->tape, x, model->config->residual_dropout));
    ms_assign(&f, out, ms_add(model->tape, residual, *out));
    return ms_locals_end(&f, out);
}

/* [B, heads, S, D] as [B * heads, S, D], a copy. */
static ms_tensor flatten(ms_model *model, ms_tensor x)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    ms_dim rows = ms_dim_mul(&tape->trace->symbols, model->batch, model->heads);
    return ms_reshape(tape, x, MS_SHAPE(rows, ms_info(tape, x)->shape.dims[2], model->head_dim));
}

/* Query, key and value of the fused product, [B, heads, S, D], locals of `f`. */
static void split(ms_model *model, ms_locals *f, ms_tensor fused, ms_tensor *out[3])
{
    ms_tape *tape = model->tape;
    ms_dim three = ms_dim_number(&tape->trace->symbols, 3);
    ms_tensor parts = ms_view(
        tape, fused, MS_SHAPE(model->batch, model->seq, model->heads, three, model->head_dim));
    ms_retain(tape, parts);
    for (uint32_t i = 0; i < 3; i++)
        out[i] = ms_local(f, ms_transpose(tape, ms_select(tape, parts, 3), 1, 2));
    ms_release(tape, parts);
}

static ms_tensor merge(ms_model *model, ms_tensor x)
{
    ms_tape *tape = model->tape;
    ms_tensor heads =
        ms_view(tape, x, MS_SHAPE(model->batch, model->heads, model->seq, model->head_dim));
    return ms_reshape(tape, ms_transpose(tape, heads, 1, 2),
                      MS_SHAPE(model->batch, model->seq, model->hidden));
}

/* The probabilities, [B * heads, S, keys]: locals of `f`; they are retained in *weights. */
static ms_tensor probabilities(ms_model *model, const bloom *g, ms_locals *f, ms_tensor query,
                               ms_tensor key, ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    *weights = 0;
    ms_tensor *scores = ms_local(f, ms_baddbmm(tape, g->alibi, query, key));
    if (ms_idle(tape) || !*scores)
        return 0;
    const ms_shape flat = ms_info(tape, *scores)->shape;
    ms_dtype dtype = (ms_dtype)ms_info(tape, query)->dtype;
    ms_shape wide = MS_SHAPE(model->batch, model->heads, flat.dims[1], flat.dims[2]);
    ms_tensor *attn_weights = ms_local(f, ms_view(tape, *scores, wide));
    if (g->mask)
        ms_assign(f, attn_weights, ms_add(tape, *attn_weights, g->mask));
    ms_tensor soft = ms_softmax_in(tape, *attn_weights, MS_DTYPE_F32);
    ms_tensor *probs = ms_local(f, ms_idle(tape) ? 0 : ms_to(tape, soft, dtype));
    ms_assign(f, probs, ms_dropout(tape, *probs, model->config->attention_dropout));
    *weights = tape->stopped ? 0 : *probs;
    ms_retain(tape, *weights);
    return *ms_local(f, ms_idle(tape) ? 0 : ms_view(tape, *probs, flat));
}

static ms_tensor attention(ms_model *model, const bloom *g, uint64_t number, ms_tensor x,
                           ms_tensor residual, ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const block *b = &g->blocks[number];
    uint32_t previous = ms_scope_enter(tape, b->attention_scope);
    ms_tensor *q_k_v[3];
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *fused = ms_local(&f, ms_linear_call(model, &b->query_key_value, *hidden));
    split(model, &f, *fused, q_k_v);
    ms_cache_append(model, &f, number, q_k_v[1], q_k_v[2]);
    for (int i = 0; i < 3; i++) {
        ms_assign(&f, q_k_v[i], flatten(model, *q_k_v[i]));
        if (i == 1)
            ms_assign(&f, q_k_v[i], ms_transpose(tape, *q_k_v[i], 1, 2));
    }
    ms_tensor probs = probabilities(model, g, &f, *q_k_v[0], *q_k_v[1], weights);
    ms_tensor *context = ms_local(&f, ms_bmm(tape, probs, *q_k_v[2]));
    ms_assign(&f, context, ms_idle(tape) ? 0 : merge(model, *context));
    ms_tensor *out = ms_local(&f, ms_linear_call(model, &b->dense, *context));
    ms_assign(&f, out, dropout_add(model, *out, residual));
    ms_tensor result = ms_locals_end(&f, out);
    ms_unown(tape, *weights);
    tape->scope = previous;
    return result;
}

static ms_tensor mlp(ms_model *model, const block *b, ms_tensor x, ms_tensor residual)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, b->mlp_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_assign(&f, hidden, ms_bloom_gelu(tape, ms_linear_call(model, &b->up, *hidden)));
    ms_tensor *middle = ms_local(&f, ms_linear_call(model, &b->down, *hidden));
    ms_tensor *output = ms_local(&f, dropout_add(model, *middle, residual));
    ms_tensor result = ms_locals_end(&f, output);
    tape->scope = previous;
    return result;
}

static ms_tensor run_block(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    bloom *g = model->modules;
    const block *b = &g->blocks[number];
    bool from_norm = model->config->residual_of_norm;
    uint32_t previous = ms_scope_enter(tape, b->scope);
    ms_tensor weights;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor *normed = ms_local(&f, ms_layer_norm_call(model, &b->attention_norm, *hidden));
    ms_tensor *residual = ms_local(&f, from_norm ? *normed : *hidden);
    ms_tensor *attended = ms_local(&f, attention(model, g, number, *normed, *residual, &weights));
    ms_tensor *probs = ms_local(&f, weights);
    ms_assign(&f, normed, ms_layer_norm_call(model, &b->mlp_norm, *attended));
    ms_assign(&f, residual, from_norm ? *normed : *attended);
    ms_tensor *output = ms_local(&f, mlp(model, b, *normed, *residual));
    ms_weights_hand_out(tape, *probs, &g->weights);
    ms_tensor result = ms_locals_end(&f, output);
    tape->scope = previous;
    return result;
}

/* ---- forward ---- */

static ms_tensor make_slopes(ms_model *model)
{
    ms_locals f = ms_locals_begin(model->tape);
    return ms_locals_end(&f, ms_alibi_slopes(model, &f));
}

/* (slopes * arange(keys)).repeat(B, 1, 1).to(dtype), bound; [B * heads, 1, keys] */
static ms_tensor *make_alibi(ms_model *model, ms_locals *f, ms_dtype dtype)
{
    ms_tape *tape = model->tape;
    ms_dim one = {.value = 1}, seen = ms_cache_keys(model, 0);
    ms_dim rows = ms_dim_mul(&tape->trace->symbols, model->batch, model->heads);
    ms_tensor range = ms_empty(tape, MS_SHAPE(seen), MS_DTYPE_I64);
    ms_tensor *alibi = ms_local(f, ms_empty(tape, MS_SHAPE(model->heads, one, seen), MS_DTYPE_F32));
    ms_consume(tape, range);
    ms_tensor repeated = ms_empty(tape, MS_SHAPE(rows, one, seen), MS_DTYPE_F32);
    ms_assign(f, alibi, ms_idle(tape) ? 0 : ms_to(tape, repeated, dtype));
    return alibi;
}

/* The same of the tokens that the batch's mask leaves: slopes * ((cumsum(mask) - 1) * mask). */
static ms_tensor alibi_of_mask(ms_model *model, ms_dtype dtype)
{
    ms_tape *tape = model->tape;
    ms_dim one = {.value = 1}, b = model->batch, n = model->seq;
    ms_locals f = ms_locals_begin(tape);
    ms_local(&f, make_slopes(model));
    ms_tensor positions = ms_add_scalar(tape, ms_cumsum_last(tape, model->attention_mask));
    ms_tensor *range = ms_local(&f, ms_mul(tape, positions, model->attention_mask));
    ms_tensor slopes = ms_empty(tape, MS_SHAPE(model->heads, one), MS_DTYPE_F32);
    ms_tensor *alibi =
        ms_local(&f, ms_mul(tape, slopes, ms_view(tape, *range, MS_SHAPE(b, one, n))));
    ms_dim rows = ms_dim_mul(&tape->trace->symbols, b, model->heads);
    ms_assign(&f, alibi, ms_view(tape, *alibi, MS_SHAPE(rows, one, n)));
    ms_assign(&f, alibi, ms_idle(tape) ? 0 : ms_to(tape, *alibi, dtype));
    return ms_locals_end(&f, alibi);
}

static ms_tensor call_block(ms_model *model, uint32_t number, ms_tensor hidden)
{
    const bloom *g = model->modules;
    const ms_region region = {
        .run = run_block, .context = model, .number = number, .held = {g->mask, g->alibi}};
    return ms_layer_call(model, &region, hidden);
}

static ms_tensor run_model(ms_model *model, bloom *g, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, g->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *embeds =
        ms_local(&f, ms_input_embedding(model, g->embedding_scope, g->embedding, 0, ids));
    bool counts = model->cache && model->cache->room > 0 && model->cache->layers[0].seen > 0;
    ms_local(&f, counts ? ms_empty_bytes(tape, 8, MS_DTYPE_I64) : 0); /* tokens seen and new */
    ms_tensor *hidden = ms_local(&f, ms_layer_norm_call(model, &g->embedding_norm, *embeds));
    bool has_mask = model->attention_mask && !model->cache;
    ms_local(&f, has_mask ? 0 : make_slopes(model));
    ms_dtype dtype = ms_idle(tape) ? model->run->dtype : (ms_dtype)ms_info(tape, *hidden)->dtype;
    g->alibi =
        has_mask ? *ms_local(&f, alibi_of_mask(model, dtype)) : *make_alibi(model, &f, dtype);
    g->mask = *ms_local(&f, ms_causal_mask(model, 0, false));
    ms_layers_with_weights(model, &f, hidden, &g->weights, call_block);
    ms_assign(&f, hidden, ms_layer_norm_call(model, &g->norm, *hidden));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static void forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    bloom *g = model->modules;
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor *hidden = ms_local(&f, run_model(model, g, in->ids));
    ms_forward_end(&f, ms_head_call(model, &f, &g->head, *hidden, in, out), out);
}

static const ms_model_program program = {build, forward};

static const ms_family_facts facts = {
    .peft = {.lora = {"query_key_value"},
             .ia3 = {"query_key_value", "mlp.dense_4h_to_h"},
             .ia3_inputs = {"mlp.dense_4h_to_h"}},
};

const ms_family ms_family_bloom = {.model_type = "bloom",
                                   .facts = &facts,
                                   .unpredicted = MS_UNPREDICTED_DOCUMENTS,
                                   .classes = {{"BloomForCausalLM", MS_HEAD_CAUSAL_LM}},
                                   .keys = keys,
                                   .key_count = sizeof keys / sizeof *keys,
                                   .derive = derive,
                                   .check = ms_check_heads_divide,
                                   .eager_only = true,
                                   .has_no_mlp_module = true,
                                   .takes_no_positions = true,
                                   .takes_cache = true,
                                   .program = &program};
