/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GPT-J: attention and MLP in parallel behind one norm; heads turned by neighbours, with a table of
 * all positions in every layer; scores in fp32, by the eager function alone.
 */
#include "model/blocks/blocks.h"
#include "model/blocks/cache.h"
#include "model/blocks/attention/masks.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"
#include "torch/ops/ops.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 50400, MAX_VOCAB),
    { .name = "n_embd", .aliases = { "hidden_size" }, .kind = MS_KEY_COUNT,
      .offset = MEMBER(hidden_size), .default_value = 4096, .minimum = 1, .maximum = MAX_HIDDEN },
    { .name = "n_layer", .aliases = { "num_hidden_layers" }, .kind = MS_KEY_COUNT,
      .offset = MEMBER(num_layers), .default_value = 28, .minimum = 1, .maximum = MAX_LAYERS },
    { .name = "n_head", .aliases = { "num_attention_heads" }, .kind = MS_KEY_COUNT,
      .offset = MEMBER(num_heads), .default_value = 16, .minimum = 1, .maximum = MAX_HEADS },
    { .name = "n_positions", .aliases = { "max_position_embeddings" }, .kind = MS_KEY_COUNT,
      .offset = MEMBER(max_positions), .default_value = 2048, .minimum = 1, .maximum = MAX_POSITIONS,
      .learned = true },
    COUNT("rotary_dim", rotary_width, 64, MAX_HEAD_DIM),
    OPTIONAL("n_inner", intermediate_size, MS_DEFAULT_FOUR_HIDDEN, 0, MS_DEFAULT_FOUR_HIDDEN, 0, MAX_INTERMEDIATE),
    ACTIVATION("activation_function", MS_ACTIVATION_GELU_NEW),
    FRACTION("resid_pdrop", residual_dropout, 0),
    FRACTION("embd_pdrop", embedding_dropout, 0),
    FRACTION("attn_pdrop", attention_dropout, 0),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    PAD_TOKEN,
    IGNORED("n_ctx"), IGNORED("layer_norm_epsilon"), IGNORED("initializer_range"),
    IGNORED("summary_type"), IGNORED("summary_use_proj"), IGNORED("summary_activation"),
    IGNORED("summary_proj_to_labels"), IGNORED("summary_first_dropout"), IGNORED("scale_attn_weights"),
    IGNORED("gradient_checkpointing"), IGNORED("rotary"), IGNORED("tokenizer_class"),
    IGNORED("use_cache"), IGNORED("bos_token_id"), IGNORED("eos_token_id"),
};
/* clang-format on */

typedef struct block {
    uint32_t scope, attention_scope, mlp_scope;
    ms_norm_module norm;
    ms_linear_module k_proj, v_proj, q_proj, out_proj, fc_in, fc_out;
    ms_tensor positions; /* a buffer: sin and cos of every position, [P, R] */
} block;

typedef struct gptj {
    uint32_t scope, embedding_scope;
    ms_dim rows, turned; /* positions; elements of a head that are turned */
    ms_tensor embedding;
    block *blocks;
    ms_norm_module norm;
    ms_linear_module head;
    ms_tensor mask, position_ids;
    ms_tensor weights; /* of the last block that ran, retained; 0: none */
} gptj;

static ms_status check(const ms_model_config *config, ms_error *err)
{
    ms_status status = ms_check_heads_divide(config, err);
    if (status != MS_OK)
        return status;
    if (config->rotary_width % 2 == 0 &&
        config->rotary_width <= config->hidden_size / config->num_heads)
        return MS_OK;
    snprintf(err->pointer, sizeof err->pointer, "/rotary_dim");
    return ms_fail(err, MS_ERR_CONFIG,
                   "%" PRIu64 " elements are rotated: only an even number below the head's %" PRIu64
                   " is supported",
                   config->rotary_width, config->hidden_size / config->num_heads);
}

/* ---- construction ---- */

/* create_sinusoidal_positions: sin and cos of the angles, joined. */
static ms_tensor make_positions(ms_model *model, const gptj *g)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    ms_shape half = MS_SHAPE(g->rows, ms_dim_half(s, g->turned));
    ms_tensor frequencies = ms_empty(tape, MS_SHAPE(ms_dim_half(s, g->turned)), model->run->dtype);
    ms_tensor numbers = ms_empty(tape, MS_SHAPE(g->rows), MS_DTYPE_I64);
    ms_tensor floats = ms_empty(tape, MS_SHAPE(g->rows), MS_DTYPE_F32);
    ms_consume(tape, numbers);
    ms_tensor angles = ms_empty(tape, half, MS_DTYPE_F32);
    ms_consume(tape, floats);
    ms_tensor sin = ms_empty(tape, half, MS_DTYPE_F32);
    ms_tensor cos = ms_empty(tape, half, MS_DTYPE_F32);
    ms_tensor table = ms_empty(tape, MS_SHAPE(g->rows, g->turned), MS_DTYPE_F32);
    ms_consume(tape, cos);
    ms_consume(tape, sin);
    ms_consume(tape, frequencies);
    ms_consume(tape, angles);
    return table;
}

static void build_block(ms_model *model, gptj *g, uint32_t parent, uint32_t number)
{
    char name[16];
    snprintf(name, sizeof name, "%u", number);
    block *b = &g->blocks[number];
    ms_dim hidden = model->hidden, middle = model->intermediate;
    b->scope = ms_scope_add(model->tape, parent, name, number);
    b->norm = ms_norm_new(model, b->scope, "ln_1", hidden, true);
    uint32_t scope = b->attention_scope = ms_scope_add(model->tape, b->scope, "attn", MS_NONE);
    b->k_proj = ms_linear_new(model, scope, "k_proj", hidden, hidden, false);
    b->v_proj = ms_linear_new(model, scope, "v_proj", hidden, hidden, false);
    b->q_proj = ms_linear_new(model, scope, "q_proj", hidden, hidden, false);
    b->out_proj = ms_linear_new(model, scope, "out_proj", hidden, hidden, false);
    uint32_t previous = ms_scope_enter(model->tape, scope);
    b->positions = ms_buffer_of(model, make_positions(model, g), "embed_positions");
    model->tape->scope = previous;
    b->mlp_scope = ms_scope_add(model->tape, b->scope, "mlp", MS_NONE);
    b->fc_in = ms_linear_new(model, b->mlp_scope, "fc_in", hidden, middle, true);
    b->fc_out = ms_linear_new(model, b->mlp_scope, "fc_out", middle, hidden, true);
}

static bool build(ms_model *model)
{
    gptj *g = ms_arena_array(model->arena, gptj, 1);
    uint64_t count = model->config->num_layers;
    block *blocks = ms_arena_array(model->arena, block, count);
    if (!g || !blocks)
        return false;
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    model->modules = g;
    g->blocks = blocks;
    g->rows = ms_dim_name(s, "P", model->config->max_positions);
    g->turned = ms_dim_name(s, "R", model->config->rotary_width);
    g->scope = ms_scope_add(tape, MS_NONE, "transformer", MS_NONE);
    g->embedding = ms_embedding_new(model, g->scope, "wte", model->vocab, model->hidden);
    g->embedding_scope = tape->trace->scopes.count - 1;
    uint32_t parent = ms_scope_add(tape, g->scope, "h", MS_NONE);
    for (uint32_t i = 0; i < count && tape->status == MS_OK; i++)
        build_block(model, g, parent, i);
    g->norm = ms_norm_new(model, g->scope, "ln_f", model->hidden, true);
    g->head = ms_head_new(model, g->embedding);
    g->head.bias = ms_parameter_new(model, g->head.scope, "bias", MS_SHAPE(model->vocab));
    for (uint32_t i = 0; i < count && tape->status == MS_OK; i++) /* _init_weights copies another */
        ms_consume(tape, make_positions(model, g));
    return true;
}

/* ---- attention ---- */

/* gather(table.repeat(P, 1, 1), 1, position_ids.repeat(1, 1, R)).to(dtype), where P is 1 or, in
 * generate(), the number of sequences: its halves are sin and cos. All of it is bound. */
static void look_up(ms_model *model, const gptj *g, const block *b, ms_locals *f, ms_dtype dtype,
                    ms_tensor parts[2])
{
    ms_tape *tape = model->tape;
    ms_dim sets = {.value = 1};
    if (!ms_idle(tape) && g->position_ids)
        sets = ms_info(tape, g->position_ids)->shape.dims[0];
    ms_shape found = MS_SHAPE(sets, model->seq, g->turned);
    ms_dtype from = ms_idle(tape) ? dtype : (ms_dtype)ms_info(tape, b->positions)->dtype;
    ms_local(f, ms_empty(tape, MS_SHAPE(sets, g->rows, g->turned), from));
    ms_local(f, ms_empty(tape, found, MS_DTYPE_I64));
    ms_tensor gathered = ms_empty(tape, found, from);
    ms_tensor *both = ms_local(f, ms_idle(tape) ? 0 : ms_to(tape, gathered, dtype));
    ms_split(tape, *both, 2, ms_dim_half(&tape->trace->symbols, g->turned), 2, parts);
    ms_local(f, parts[0]);
    ms_local(f, parts[1]);
}

/* x * cos + rotated(x) * sin, with every number of the tables twice: [1, S, 1, R] */
static ms_tensor turn(ms_model *model, ms_tensor x, const ms_tensor sin_cos[2])
{
    ms_tape *tape = model->tape;
    ms_dim two = ms_dim_number(&tape->trace->symbols, 2);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_tensor *sin = ms_local(&f, ms_repeat_each(tape, ms_unsqueeze(tape, sin_cos[0], 2), 3, two));
    ms_tensor *cos = ms_local(&f, ms_repeat_each(tape, ms_unsqueeze(tape, sin_cos[1], 2), 3, two));
    ms_tensor out = ms_rotary_turn_pairs(tape, *input, *cos, *sin);
    ms_retain(tape, out);
    ms_locals_end(&f, NULL);
    return ms_unown(tape, out);
}

/* Query and key, locals of `f`, turned and transposed: [B, H, S, D]. */
static void turn_heads(ms_model *model, const gptj *g, ms_locals *f, const ms_tensor sin_cos[2],
                       ms_tensor *query, ms_tensor *key)
{
    ms_tape *tape = model->tape;
    ms_dim passing = ms_dim_rest(&tape->trace->symbols, model->head_dim, g->turned);
    ms_tensor *sides[] = {key, query}, *turned[2], *pass[2];
    for (int i = 0; i < 2; i++) {
        turned[i] = ms_local(f, ms_slice_last(tape, *sides[i], g->turned));
        pass[i] = ms_local(f, ms_slice_last(tape, *sides[i], passing));
    }
    for (int i = 0; i < 2; i++)
        ms_assign(f, turned[i], turn(model, *turned[i], sin_cos));
    for (int i = 0; i < 2; i++)
        ms_assign(f, sides[i], ms_cat2(tape, *turned[i], *pass[i], 3));
    for (int i = 0; i < 2; i++)
        ms_assign(f, sides[i], ms_transpose(tape, *sides[i], 1, 2));
}

/* Scores in fp32, probabilities in the type of the value; those are retained in *weights. */
static ms_tensor attend(ms_model *model, ms_tensor mask, const ms_tensor q_k_v[3],
                        ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    *weights = 0;
    if (ms_idle(tape) || !q_k_v[0])
        return 0;
    ms_dtype dtype = (ms_dtype)ms_info(tape, q_k_v[2])->dtype;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *query = ms_local(&f, ms_to(tape, q_k_v[0], MS_DTYPE_F32));
    ms_tensor *key = ms_local(&f, ms_to(tape, q_k_v[1], MS_DTYPE_F32));
    ms_tensor *scores = ms_local(&f, ms_matmul(tape, *query, ms_transpose(tape, *key, 2, 3)));
    ms_assign(&f, scores, ms_div_scalar(tape, *scores));
    if (mask)
        ms_assign(&f, scores, ms_add(tape, *scores, mask));
    if (!ms_idle(tape))
        ms_assign(&f, scores,
                  ms_softmax_last(tape, *scores, (ms_dtype)ms_info(tape, *scores)->dtype));
    ms_assign(&f, scores, ms_idle(tape) ? 0 : ms_to(tape, *scores, dtype));
    ms_assign(&f, scores, ms_dropout(tape, *scores, model->config->attention_dropout));
    ms_tensor *out = ms_local(&f, ms_matmul(tape, *scores, q_k_v[2]));
    *weights = tape->stopped ? 0 : *scores;
    ms_retain(tape, *weights);
    return ms_locals_end(&f, out);
}

static ms_tensor heads_of(ms_model *model, const ms_linear_module *linear, ms_tensor hidden)
{
    return ms_view(model->tape, ms_linear_call(model, linear, hidden),
                   MS_SHAPE(model->batch, model->seq, model->heads, model->head_dim));
}

static ms_tensor attention(ms_model *model, gptj *g, uint64_t number, ms_tensor x,
                           ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const block *b = &g->blocks[number];
    uint32_t previous = ms_scope_enter(tape, b->attention_scope);
    ms_tensor sin_cos[2] = {0};
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *query = ms_local(&f, heads_of(model, &b->q_proj, *hidden));
    ms_tensor *key = ms_local(&f, heads_of(model, &b->k_proj, *hidden));
    ms_tensor *value = ms_local(&f, heads_of(model, &b->v_proj, *hidden));
    ms_assign(&f, value, ms_transpose(tape, *value, 1, 2));
    ms_dtype dtype = ms_idle(tape) ? model->run->dtype : (ms_dtype)ms_info(tape, *key)->dtype;
    look_up(model, g, b, &f, dtype, sin_cos);
    turn_heads(model, g, &f, sin_cos, query, key);
    ms_cache_append(model, &f, number, key, value);
    ms_tensor *out =
        ms_local(&f, attend(model, g->mask, (ms_tensor[]){*query, *key, *value}, weights));
    ms_assign(&f, out, ms_contiguous(tape, ms_transpose(tape, *out, 1, 2)));
    ms_assign(&f, out, ms_view(tape, *out, MS_SHAPE(model->batch, model->seq, model->hidden)));
    ms_assign(&f, out, ms_linear_call(model, &b->out_proj, *out));
    ms_assign(&f, out, ms_dropout(tape, *out, model->config->residual_dropout));
    ms_tensor result = ms_locals_end(&f, out);
    ms_unown(tape, *weights);
    tape->scope = previous;
    return result;
}

/* ---- blocks ---- */

static ms_tensor mlp(ms_tape *tape, void *context, uint64_t number, ms_tensor x)
{
    ms_model *model = context;
    const gptj *g = model->modules;
    const block *b = &g->blocks[number];
    uint32_t previous = ms_scope_enter(tape, b->mlp_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_assign(&f, hidden, ms_linear_call(model, &b->fc_in, *hidden));
    ms_assign(&f, hidden, ms_activation_call(model, *hidden));
    ms_assign(&f, hidden, ms_linear_call(model, &b->fc_out, *hidden));
    ms_assign(&f, hidden, ms_dropout(tape, *hidden, model->config->residual_dropout));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static ms_tensor run_block(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    gptj *g = model->modules;
    const block *b = &g->blocks[number];
    uint32_t previous = ms_scope_enter(tape, b->scope);
    ms_tensor weights;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor *residual = ms_local(&f, *hidden);
    ms_assign(&f, hidden, ms_layer_norm_call(model, &b->norm, *hidden));
    ms_tensor *attended = ms_local(&f, attention(model, g, number, *hidden, &weights));
    ms_tensor *probabilities = ms_local(&f, weights);
    const ms_region region = {.run = mlp, .context = model, .number = number};
    ms_tensor *feed_forward = ms_local(&f, ms_mlp_call(model, &region, *hidden));
    ms_tensor sum = ms_add(tape, *attended, *feed_forward);
    ms_assign(&f, hidden, ms_add(tape, sum, *residual));
    ms_weights_hand_out(tape, *probabilities, &g->weights);
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* ---- forward ---- */

static ms_tensor call_block(ms_model *model, uint32_t number, ms_tensor hidden)
{
    const gptj *g = model->modules;
    const ms_region region = {
        .run = run_block, .context = model, .number = number, .held = {g->mask, g->position_ids}};
    return ms_layer_call(model, &region, hidden);
}

static ms_tensor run_model(ms_model *model, gptj *g, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, g->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *position_ids = ms_local(&f, 0);
    ms_tensor *embeds =
        ms_local(&f, ms_input_embedding(model, g->embedding_scope, g->embedding, 0, ids));
    ms_assign(&f, position_ids, ms_position_ids(model));
    ms_tensor *mask = ms_local(&f, ms_causal_mask(model, *position_ids, false));
    g->mask = *mask;
    g->position_ids = *position_ids;
    ms_tensor *hidden = ms_local(&f, *embeds);
    ms_assign(&f, hidden, ms_dropout(tape, *hidden, model->config->embedding_dropout));
    ms_layers_with_weights(model, &f, hidden, &g->weights, call_block);
    ms_assign(&f, hidden, ms_layer_norm_call(model, &g->norm, *hidden));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static void forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    gptj *g = model->modules;
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor *hidden = ms_local(&f, run_model(model, g, in->ids));
    ms_forward_end(&f, ms_head_call(model, &f, &g->head, *hidden, in, out), out);
}

static const ms_model_program program = {build, forward};

static const ms_family_facts facts = {
    .peft = {.lora = {"q_proj", "v_proj"},
             .ia3 = {"q_proj", "v_proj", "fc_out"},
             .ia3_inputs = {"fc_out"}},
};

const ms_family ms_family_gptj = {.model_type = "gptj",
                                  .facts = &facts,
                                  .classes = {{"GPTJForCausalLM", MS_HEAD_CAUSAL_LM}},
                                  .keys = keys,
                                  .key_count = sizeof keys / sizeof *keys,
                                  .check = check,
                                  .eager_only = true,
                                  .takes_cache = true,
                                  .program = &program};
