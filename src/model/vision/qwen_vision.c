/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/qwen_vision.h"

#include <stdio.h>

#include "model/blocks/blocks.h"
#include "model/vision/qwen_interpolation.h"
#include "model/vision/qwen_patches.h"
#include "ops/ops.h"
#include "treatments/checkpoint.h"

typedef struct block {
    uint32_t scope, mlp_scope;
    ms_norm_module norm1, norm2;
    ms_qwen_attention attention;
    ms_linear_module fc1, fc2;
} block;

typedef struct merger {
    uint32_t scope;
    bool is_deep; /* its norm sees merged patches */
    ms_norm_module norm;
    ms_linear_module fc1, fc2;
} merger;

typedef struct tower {
    uint32_t scope, projection_scope, positions_scope, rotary_scope;
    ms_tensor projection, bias, positions, inv_freq;
    block *blocks;
    merger last, *deep;
    ms_qwen_parts images;
    ms_dim hidden, middle, merged, out;
    ms_tensor cos, sin, ends; /* of the running pass */
} tower;

/* ---- construction ---- */

static uint32_t child(ms_model *model, uint32_t parent, const char *name)
{
    return ms_scope_add(model->tape, parent, name, MS_NONE);
}

static uint32_t numbered(ms_model *model, uint32_t parent, uint64_t number)
{
    char name[24];
    snprintf(name, sizeof name, "%u", (unsigned)number);
    return child(model, parent, name);
}

static bool has_merger(const ms_vision_config *vision, uint64_t number)
{
    return vision->marked_blocks[number / 64] >> number % 64 & 1;
}

uint32_t ms_qwen_deep_count(const ms_vision_config *vision)
{
    uint32_t count = 0;
    for (uint64_t i = 0; i < MS_MOST_BLOCKS; i++)
        count += has_merger(vision, i);
    return count;
}

static void patches_new(ms_model *model, tower *t)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    ms_dim side = ms_dim_number(s, vision->patch_size);
    t->projection_scope = child(model, child(model, t->scope, "patch_embed"), "proj");
    t->projection = ms_parameter_new(model, t->projection_scope, "weight",
                                     MS_SHAPE(t->hidden, ms_dim_number(s, vision->channels),
                                              ms_dim_number(s, vision->frames), side, side));
    t->bias = ms_parameter_new(model, t->projection_scope, "bias", MS_SHAPE(t->hidden));
    t->positions = ms_embedding_new(model, t->scope, "pos_embed",
                                    ms_dim_number(s, vision->positions), t->hidden);
    t->positions_scope = model->tape->trace->scopes.count - 1;
}

/* Half of a head turns by rows, half by columns. */
static void rotary_new(ms_model *model, tower *t)
{
    const ms_vision_config *vision = &model->config->vision;
    uint64_t half = vision->hidden_size / vision->num_heads / 2;
    ms_shape shape = MS_SHAPE(ms_dim_number(&model->tape->trace->symbols, (half + 1) / 2));
    t->rotary_scope = child(model, t->scope, "rotary_pos_emb");
    uint32_t previous = ms_scope_enter(model->tape, t->rotary_scope);
    t->inv_freq = ms_buffer_new(model, shape, MS_DTYPE_F32, "inv_freq");
    ms_buffer_new(model, shape, MS_DTYPE_F32, "inv_freq");
    model->tape->scope = previous;
}

static void block_new(ms_model *model, const tower *t, block *b, uint32_t scope)
{
    b->scope = scope;
    b->norm1 = ms_norm_new(model, scope, "norm1", t->hidden, true);
    b->norm2 = ms_norm_new(model, scope, "norm2", t->hidden, true);
    b->attention = ms_qwen_attention_new(model, scope, t->hidden);
    b->mlp_scope = child(model, scope, "mlp");
    b->fc1 = ms_linear_new(model, b->mlp_scope, "linear_fc1", t->hidden, t->middle, true);
    b->fc2 = ms_linear_new(model, b->mlp_scope, "linear_fc2", t->middle, t->hidden, true);
}

static merger merger_new(ms_model *model, const tower *t, uint32_t scope, bool is_deep)
{
    merger m = {.scope = scope, .is_deep = is_deep};
    m.norm = ms_norm_new(model, scope, "norm", is_deep ? t->merged : t->hidden, true);
    m.fc1 = ms_linear_new(model, scope, "linear_fc1", t->merged, t->merged, true);
    m.fc2 = ms_linear_new(model, scope, "linear_fc2", t->merged, t->out, true);
    return m;
}

static tower *tower_new(ms_model *model)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    tower *t = ms_arena_array(model->arena, tower, 1);
    block *blocks = ms_arena_array(model->arena, block, vision->num_layers);
    merger *deep = ms_arena_array(model->arena, merger, ms_qwen_deep_count(vision) + 1);
    if (!t || !blocks || !deep)
        return NULL;
    *t = (tower){.blocks = blocks, .deep = deep};
    t->hidden = ms_dim_name(s, "Hv", vision->hidden_size);
    t->middle = ms_dim_name(s, "Iv", vision->intermediate_size);
    t->merged = ms_dim_number(s, vision->hidden_size * vision->merge_size * vision->merge_size);
    t->out = ms_dim_name(s, "Ov", vision->out_size);
    return t;
}

bool ms_qwen_vision_new(ms_model *model, uint32_t parent)
{
    const ms_vision_config *vision = &model->config->vision;
    tower *t = model->tower = tower_new(model);
    if (!t)
        return false;
    t->scope = child(model, parent, "visual");
    uint32_t first = model->tape->parameters.count, count = ms_qwen_deep_count(vision);
    patches_new(model, t);
    rotary_new(model, t);
    uint32_t blocks = child(model, t->scope, "blocks");
    for (uint64_t i = 0; i < vision->num_layers && model->tape->status == MS_OK; i++)
        block_new(model, t, &t->blocks[i], numbered(model, blocks, i));
    t->last = merger_new(model, t, child(model, t->scope, "merger"), false);
    uint32_t deep = count ? child(model, t->scope, "deepstack_merger_list") : 0;
    for (uint32_t i = 0; i < count && model->tape->status == MS_OK; i++)
        t->deep[i] = merger_new(model, t, numbered(model, deep, i), true);
    if (model->run->images.frozen && !model->run->adapter) /* which freezes by itself */
        ms_parameters_freeze(model, first, model->tape->parameters.count);
    return model->run->images.count == 0 || ms_qwen_images_list(model, &t->images);
}

/* ---- blocks ---- */

static ms_tensor mlp(ms_model *model, const block *b, ms_tensor x)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, b->mlp_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor middle = ms_activate(tape, model->config->vision.activation,
                                   ms_linear_call(model, &b->fc1, *hidden));
    ms_tensor *out = ms_local(&f, ms_linear_call(model, &b->fc2, middle));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

static ms_tensor run_block(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    const tower *t = model->tower;
    const block *b = &t->blocks[number];
    const ms_qwen_places places = {
        .parts = &t->images, .cos = t->cos, .sin = t->sin, .ends = t->ends};
    uint32_t previous = ms_scope_enter(tape, b->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor attended = ms_qwen_attend(model, &b->attention, &places,
                                        ms_layer_norm_call(model, &b->norm1, *hidden));
    ms_assign(&f, hidden, ms_add(tape, *hidden, attended));
    ms_tensor changed = mlp(model, b, ms_layer_norm_call(model, &b->norm2, *hidden));
    ms_assign(&f, hidden, ms_add(tape, *hidden, changed));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* gradient_checkpointing_enable() checkpoints the tower's blocks as well as the layers. */
static ms_tensor call_block(ms_model *model, const tower *t, uint64_t number, ms_tensor hidden)
{
    const ms_region region = {
        .run = run_block, .context = model, .number = number, .held = {t->ends, t->sin, t->cos}};
    return model->run->images.checkpoints ? ms_checkpoint_run(model->tape, &region, hidden)
                                          : run_block(model->tape, model, number, hidden);
}

static ms_tensor merge(ms_model *model, const tower *t, const merger *m, ms_tensor x)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    if (ms_idle(tape) || !x)
        return 0;
    ms_dim tokens = ms_dim_number(s, t->images.count * model->run->images.grid.tokens);
    ms_shape rows = MS_SHAPE(tokens, t->merged);
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor seen = m->is_deep ? ms_view(tape, *hidden, rows) : *hidden;
    ms_assign(&f, hidden, ms_view(tape, ms_layer_norm_call(model, &m->norm, seen), rows));
    ms_tensor middle = ms_gelu(tape, ms_linear_call(model, &m->fc1, *hidden));
    ms_assign(&f, hidden, ms_linear_call(model, &m->fc2, middle));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* ---- forward ---- */

/* (pos_embed(indices) * weights).sum(1), fp32 [patches, Hv]. */
static ms_tensor learned_positions(ms_model *model, const tower *t, ms_tensor indices,
                                   ms_tensor weights)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, t->positions_scope);
    ms_tensor rows = ms_embedding(tape, t->positions, indices);
    tape->scope = previous;
    return ms_sum_dim(tape, ms_mul(tape, rows, ms_unsqueeze(tape, weights, 2)), 1, false);
}

static ms_tensor run_blocks(ms_model *model, const tower *t, ms_locals *f, ms_tensor *hidden,
                            ms_tensor *deep)
{
    uint32_t done = 0;
    for (uint64_t i = 0; i < model->config->vision.num_layers && !ms_idle(model->tape); i++) {
        ms_assign(f, hidden, call_block(model, t, i, *hidden));
        if (has_merger(&model->config->vision, i)) {
            deep[done] = merge(model, t, &t->deep[done], *hidden);
            ms_retain(model->tape, deep[done++]);
        }
    }
    return merge(model, t, &t->last, *hidden);
}

ms_qwen_vision_result ms_qwen_vision_run(ms_model *model, ms_tensor pixels, ms_tensor *deep)
{
    ms_tape *tape = model->tape;
    tower *t = model->tower;
    uint32_t previous = ms_scope_enter(tape, t->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, pixels), taps[2], tables[2] = {0}, result[2];
    ms_qwen_interpolate(model, taps);
    ms_tensor *indices = ms_local(&f, taps[0]), *weights = ms_local(&f, taps[1]);
    ms_tensor *places = ms_local(&f, ms_qwen_grid_positions(model, &t->images));
    t->ends = *ms_local(&f, ms_qwen_ends(tape, t->images.count + 1));
    ms_assign(&f, hidden,
              ms_qwen_project(model, t->projection_scope, t->projection, t->bias, *hidden));
    ms_tensor *learned = ms_local(&f, learned_positions(model, t, *indices, *weights));
    if (!ms_idle(tape) && *hidden)
        ms_assign(
            &f, hidden,
            ms_add(tape, *hidden, ms_to(tape, *learned, (ms_dtype)ms_info(tape, *hidden)->dtype)));
    ms_qwen_tables(model, t->rotary_scope, t->inv_freq, *places, tables);
    t->cos = *ms_local(&f, tables[0]);
    t->sin = *ms_local(&f, tables[1]);
    ms_tensor *merged = ms_local(&f, 0);
    ms_assign(&f, merged, run_blocks(model, t, &f, hidden, deep));
    ms_return_both(&f, *hidden, *merged, result);
    tape->scope = previous;
    return (ms_qwen_vision_result){.last = result[0], .merged = result[1]};
}
