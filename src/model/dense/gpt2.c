/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GPT-2: learned positions, layer norms, fused q/k/v, dropout, biases everywhere.
 */
#include "model/blocks/blocks.h"
#include "model/blocks/cache.h"
#include "model/blocks/attention/masks.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "torch/ops/ops.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 50257, MAX_VOCAB),
    { .name = "n_embd", .aliases = { "hidden_size" }, .kind = MS_KEY_COUNT,
      .offset = MEMBER(hidden_size), .default_value = 768, .minimum = 1, .maximum = MAX_HIDDEN },
    { .name = "n_layer", .aliases = { "num_hidden_layers" }, .kind = MS_KEY_COUNT,
      .offset = MEMBER(num_layers), .default_value = 12, .minimum = 1, .maximum = MAX_LAYERS },
    { .name = "n_head", .aliases = { "num_attention_heads" }, .kind = MS_KEY_COUNT,
      .offset = MEMBER(num_heads), .default_value = 12, .minimum = 1, .maximum = MAX_HEADS },
    { .name = "n_positions", .aliases = { "max_position_embeddings" }, .kind = MS_KEY_COUNT,
      .offset = MEMBER(max_positions), .default_value = 1024, .minimum = 1, .maximum = MAX_POSITIONS,
      .learned = true },
    OPTIONAL("n_inner", intermediate_size, MS_DEFAULT_FOUR_HIDDEN, 0, MS_DEFAULT_FOUR_HIDDEN, 0, MAX_INTERMEDIATE),
    ACTIVATION("activation_function", MS_ACTIVATION_GELU_NEW),
    FRACTION("resid_pdrop", residual_dropout, 0.1),
    FRACTION("embd_pdrop", embedding_dropout, 0.1),
    FRACTION("attn_pdrop", attention_dropout, 0.1),
    BOOL("tie_word_embeddings", tie_word_embeddings, true),
    BOOL("scale_attn_weights", scale_attn_weights, true),
    PAD_TOKEN,
    FIXED("scale_attn_by_inverse_layer_idx", false),
    FIXED("reorder_and_upcast_attn", false),
    FIXED("add_cross_attention", false),
    IGNORED("n_ctx"),
    IGNORED("layer_norm_epsilon"),
    IGNORED("initializer_range"),
    IGNORED("summary_type"),
    IGNORED("summary_use_proj"),
    IGNORED("summary_activation"),
    IGNORED("summary_proj_to_labels"),
    IGNORED("summary_first_dropout"),
    IGNORED("use_cache"),
    IGNORED("bos_token_id"),
    IGNORED("eos_token_id"),
};
/* clang-format on */

typedef struct block {
    uint32_t scope, attention_scope, mlp_scope;
    ms_norm_module ln_1, ln_2;
    ms_linear_module c_attn, attn_proj, c_fc, mlp_proj;
} block;

typedef struct gpt2 {
    uint32_t scope, wte_scope, wpe_scope;
    ms_tensor wte, wpe;
    block *blocks;
    ms_norm_module ln_f;
    ms_linear_module head;
    ms_tensor mask;
} gpt2;

/* ---- construction ---- */

static void build_block(ms_model *model, gpt2 *g, uint32_t parent, uint32_t number)
{
    char name[16];
    snprintf(name, sizeof name, "%u", number);
    ms_symbols *s = &model->tape->trace->symbols;
    block *b = &g->blocks[number];
    ms_dim fused = ms_dim_mul(s, ms_dim_number(s, 3), model->hidden);
    b->scope = ms_scope_add(model->tape, parent, name, number);
    b->ln_1 = ms_norm_new(model, b->scope, "ln_1", model->hidden, true);
    b->attention_scope = ms_scope_add(model->tape, b->scope, "attn", MS_NONE);
    b->c_attn = ms_conv1d_new(model, b->attention_scope, "c_attn", model->hidden, fused);
    b->attn_proj = ms_conv1d_new(model, b->attention_scope, "c_proj", model->hidden, model->hidden);
    b->ln_2 = ms_norm_new(model, b->scope, "ln_2", model->hidden, true);
    b->mlp_scope = ms_scope_add(model->tape, b->scope, "mlp", MS_NONE);
    b->c_fc = ms_conv1d_new(model, b->mlp_scope, "c_fc", model->hidden, model->intermediate);
    b->mlp_proj = ms_conv1d_new(model, b->mlp_scope, "c_proj", model->intermediate, model->hidden);
}

static bool build(ms_model *model)
{
    gpt2 *g = ms_arena_array(model->arena, gpt2, 1);
    uint64_t count = model->config->num_layers;
    block *blocks = ms_arena_array(model->arena, block, count);
    if (!g || !blocks)
        return false;
    model->modules = g;
    g->blocks = blocks;
    ms_tape *tape = model->tape;
    ms_dim rows = ms_dim_name(&tape->trace->symbols, "P", model->config->max_positions);
    g->scope = ms_scope_add(tape, MS_NONE, "transformer", MS_NONE);
    g->wte = ms_embedding_new(model, g->scope, "wte", model->vocab, model->hidden);
    g->wte_scope = tape->trace->scopes.count - 1;
    g->wpe = ms_embedding_new(model, g->scope, "wpe", rows, model->hidden);
    g->wpe_scope = tape->trace->scopes.count - 1;
    uint32_t parent = ms_scope_add(tape, g->scope, "h", MS_NONE);
    for (uint32_t i = 0; i < count && tape->status == MS_OK; i++)
        build_block(model, g, parent, i);
    g->ln_f = ms_norm_new(model, g->scope, "ln_f", model->hidden, true);
    g->head = ms_head_new(model, g->wte);
    return true;
}

/* ---- forward ---- */

static ms_tensor attention(ms_model *model, gpt2 *g, uint64_t number, ms_tensor x,
                           ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const block *b = &g->blocks[number];
    uint32_t previous = ms_scope_enter(tape, b->attention_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor parts[3];
    ms_split(tape, ms_conv1d_call(model, &b->c_attn, *hidden), 2, model->hidden, 3, parts);
    ms_tensor *query = ms_local(&f, parts[0]);
    ms_tensor *key = ms_local(&f, parts[1]);
    ms_tensor *value = ms_local(&f, parts[2]);
    ms_assign(&f, key, ms_as_heads(model, *key, model->heads));
    ms_assign(&f, value, ms_as_heads(model, *value, model->heads));
    ms_assign(&f, query, ms_as_heads(model, *query, model->heads));
    ms_cache_append(model, &f, number, key, value);
    ms_tensor *output =
        ms_attend_merged(model, &f, number, (ms_tensor[]){*query, *key, *value}, g->mask, weights);
    ms_assign(&f, output, ms_conv1d_call(model, &b->attn_proj, *output));
    ms_assign(&f, output, ms_dropout(tape, *output, model->config->residual_dropout));
    ms_tensor result = ms_locals_end(&f, output);
    ms_unown(tape, *weights);
    tape->scope = previous;
    return result;
}

static ms_tensor mlp(ms_tape *tape, void *context, uint64_t number, ms_tensor x)
{
    ms_model *model = context;
    const gpt2 *g = model->modules;
    const block *b = &g->blocks[number];
    uint32_t previous = ms_scope_enter(tape, b->mlp_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_assign(&f, hidden, ms_conv1d_call(model, &b->c_fc, *hidden));
    ms_assign(&f, hidden, ms_activation_call(model, *hidden));
    ms_assign(&f, hidden, ms_conv1d_call(model, &b->mlp_proj, *hidden));
    ms_assign(&f, hidden, ms_dropout(tape, *hidden, model->config->residual_dropout));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static ms_tensor run_block(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    gpt2 *g = model->modules;
    block *b = &g->blocks[number];
    uint32_t previous = ms_scope_enter(tape, b->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor *residual = ms_local(&f, *hidden);
    ms_assign(&f, hidden, ms_layer_norm_call(model, &b->ln_1, *hidden));
    ms_tensor weights;
    ms_tensor *attn_output = ms_local(&f, attention(model, g, number, *hidden, &weights));
    ms_local(&f, weights);
    ms_assign(&f, hidden, ms_add(tape, *attn_output, *residual));
    ms_assign(&f, residual, *hidden);
    ms_assign(&f, hidden, ms_layer_norm_call(model, &b->ln_2, *hidden));
    const ms_region mlp_region = {.run = mlp, .context = model, .number = number};
    ms_tensor *feed_forward = ms_local(&f, ms_mlp_call(model, &mlp_region, *hidden));
    ms_assign(&f, hidden, ms_add(tape, *residual, *feed_forward));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static ms_tensor call_block(ms_model *model, uint32_t number, ms_tensor hidden,
                            ms_tensor position_ids)
{
    gpt2 *g = model->modules;
    ms_region region = {.run = run_block,
                        .context = model,
                        .number = number,
                        .positional = &g->mask,
                        .held = {position_ids}};
    return ms_layer_call(model, &region, hidden);
}

static ms_tensor embed(ms_model *model, uint32_t scope, ms_tensor weight, ms_tensor ids)
{
    uint32_t previous = ms_scope_enter(model->tape, scope);
    ms_tensor out = ms_embedding(model->tape, weight, ids);
    model->tape->scope = previous;
    return out;
}

static ms_tensor run_model(ms_model *model, gpt2 *g, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, g->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *position_ids = ms_local(&f, 0);
    ms_tensor *embeds = ms_local(&f, ms_input_embedding(model, g->wte_scope, g->wte, 0, ids));
    ms_assign(&f, position_ids, ms_position_ids(model));
    ms_tensor *positions = ms_local(&f, embed(model, g->wpe_scope, g->wpe, *position_ids));
    ms_tensor *hidden = ms_local(&f, ms_add(tape, *embeds, *positions));
    ms_tensor *mask = ms_local(&f, ms_causal_mask(model, *position_ids, false));
    g->mask = *mask;
    ms_assign(&f, hidden, ms_dropout(tape, *hidden, model->config->embedding_dropout));
    for (uint32_t i = 0; i < model->config->num_layers && tape->status == MS_OK; i++)
        ms_assign(&f, hidden, call_block(model, i, *hidden, *position_ids));
    ms_assign(&f, hidden, ms_layer_norm_call(model, &g->ln_f, *hidden));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static void forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    ms_tape *tape = model->tape;
    gpt2 *g = model->modules;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_local(&f, run_model(model, g, in->ids));
    ms_forward_end(&f, ms_head_call(model, &f, &g->head, *hidden, in, out), out);
}

static const ms_model_program program = {build, forward};

static const ms_family_facts facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .peft = {.lora = {"c_attn"}, .ia3 = {"c_attn", "mlp.c_proj"}, .ia3_inputs = {"mlp.c_proj"}},
    .llama_cpp = "gpt2",
    .has_conv1d = true,
    .awq_differs = true,
};

const ms_family ms_family_gpt2 = {
    .model_type = "gpt2",
    .facts = &facts,
    .classes = {{"GPT2LMHeadModel", MS_HEAD_CAUSAL_LM},
                {"GPT2ForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .check = ms_check_heads_divide,
    .takes_cache = true,
    .program = &program};
