/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Qwen2-VL and Qwen2.5-VL: Qwen2 with rotary tables of three grids, and a vision tower, which runs
 * where there are images.
 */
#include "input/config/model/model_config.h"
#include "model/blocks/blocks.h"
#include "model/blocks/model.h"
#include "model/decoder/decoder.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"
#include "model/vision/image_tokens.h"
#include "model/vision/qwen/attention.h"
#include "model/vision/qwen/image.h"
#include "model/vision/qwen/patches.h"
#include "torch/autograd/graph.h"
#include "torch/ops/moe/rows.h"
#include "torch/ops/ops.h"

/* The vision towers of Qwen2-VL and Qwen2.5-VL (Qwen2VisionTransformerPretrainedModel and
 * Qwen2_5_VisionTransformerPretrainedModel of transformers): blocks and a merger of neighbouring
 * patches. In Qwen2.5-VL, whose config->vision has a window_size, attention stays in windows, but
 * for a few blocks. */

/* ---- qwen2 tower ---- */

static const ms_qwen_block_form of_qwen2 = {.first = "fc1", .last = "fc2"};

static const ms_qwen_block_form of_qwen2_5 = {
    .is_rms = true, .gate = "gate_proj", .first = "up_proj", .last = "down_proj"};

typedef struct tower {
    const ms_qwen_block_form *form;
    uint32_t scope, merger_scope, merger_mlp_scope;
    ms_qwen_projection projection;
    ms_qwen_rotary rotary;
    ms_qwen_block *blocks;
    ms_norm_module ln_q;
    ms_linear_module first, second;       /* of the merger */
    ms_qwen_parts windows, images;        /* where attention stays; windows: of Qwen2.5-VL alone */
    ms_qwen_places in_windows, in_images; /* of the running pass */
    ms_dim hidden, merged;
} tower;

/* ---- construction ---- */

static bool has_windows(const ms_model *model)
{
    return model->config->vision.window_size > 0;
}

static bool sees_whole_images(const ms_model *model, uint64_t number)
{
    return model->config->vision.marked_blocks[number / 64] >> number % 64 & 1;
}

static bool blocks_new(ms_model *model, tower *t)
{
    t->in_images.parts = &t->images;
    t->in_windows.parts = &t->windows;
    t->blocks = ms_qwen_blocks_new(model, t->form, t->scope, t->hidden, &t->in_images);
    for (uint64_t i = 0; t->blocks && has_windows(model) && i < model->config->vision.num_layers;
         i++)
        if (!sees_whole_images(model, i))
            t->blocks[i].places = &t->in_windows;
    return t->blocks != NULL;
}

static void merger_new(ms_model *model, tower *t)
{
    ms_dim out = ms_dim_name(&model->tape->trace->symbols, "Ov", model->config->vision.out_size);
    t->merger_scope = ms_scope_add(model->tape, t->scope, "merger", MS_NONE);
    t->ln_q = ms_qwen_norm_new(model, t->form, t->merger_scope, "ln_q", t->hidden);
    t->merger_mlp_scope = ms_scope_add(model->tape, t->merger_scope, "mlp", MS_NONE);
    t->first = ms_linear_new(model, t->merger_mlp_scope, "0", t->merged, t->merged, true);
    t->second = ms_linear_new(model, t->merger_mlp_scope, "2", t->merged, out, true);
}

/* The parts of a batch of images; false: out of memory. */
static bool parts_list(ms_model *model, tower *t)
{
    return model->run->images.count == 0 ||
           ((!has_windows(model) || ms_qwen_windows_list(model, &t->windows)) &&
            ms_qwen_images_list(model, &t->images));
}

/* Creates the parameters below `parent`, from config->vision; a member of ms_decoder_style. */
static bool qwen2_tower_new(ms_model *model, uint32_t parent)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    tower *t = ms_arena_array(model->arena, tower, 1);
    if (!t)
        return false;
    model->tower = t;
    t->form = has_windows(model) ? &of_qwen2_5 : &of_qwen2;
    t->scope = ms_scope_add(model->tape, parent, "visual", MS_NONE);
    t->hidden = ms_dim_name(s, "Hv", vision->hidden_size);
    t->merged = ms_dim_number(s, vision->hidden_size * vision->merge_size * vision->merge_size);
    uint32_t first = model->tape->parameters.count;
    t->projection = ms_qwen_projection_new(model, t->scope, t->hidden, false);
    t->rotary = ms_qwen_rotary_new(model, t->scope);
    if (!blocks_new(model, t))
        return false;
    merger_new(model, t);
    if (model->run->images.frozen && !model->run->adapter) /* which freezes by itself */
        ms_parameters_freeze(model, first, model->tape->parameters.count);
    return parts_list(model, t);
}

/* ---- windows ---- */

/* permute_input_for_window_attn: the groups of patches that are merged, in the order of windows;
 * `order` is the caller's, or 0. As they are without windows. */
static ms_tensor in_windows(ms_model *model, const tower *t, ms_tensor x, ms_tensor order)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !x)
        return 0;
    if (!has_windows(model))
        return x;
    ms_symbols *s = &tape->trace->symbols;
    uint64_t merge = model->config->vision.merge_size;
    ms_shape shape = ms_info(tape, x)->shape;
    ms_dim groups = ms_dim_number(s, t->images.count * model->run->images.grid.tokens);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_assign(
        &f, input,
        ms_reshape(tape, *input, MS_SHAPE(groups, ms_dim_number(s, merge * merge), shape.dims[1])));
    ms_assign(&f, input, ms_index_by_host(tape, *input, order, groups));
    ms_assign(&f, input, ms_reshape(tape, *input, shape));
    return ms_locals_end(&f, input);
}

/* cos and sin, in the order of windows where there are any: locals of `f`. */
static void make_tables(ms_model *model, tower *t, ms_locals *f, ms_tensor positions,
                        ms_tensor order)
{
    ms_tape *tape = model->tape;
    ms_tensor tables[2] = {0};
    ms_qwen_tables(model, &t->rotary, positions, tables);
    ms_retain(tape, tables[0]);
    ms_retain(tape, tables[1]);
    ms_tensor cos = in_windows(model, t, tables[0], order);
    ms_retain(tape, cos);
    ms_tensor sin = in_windows(model, t, tables[1], order);
    ms_retain(tape, sin);
    ms_release(tape, tables[1]);
    ms_release(tape, tables[0]);
    t->in_images.sin = t->in_windows.sin = *ms_local(f, ms_unown(tape, sin));
    t->in_images.cos = t->in_windows.cos = *ms_local(f, ms_unown(tape, cos));
}

/* ---- forward ---- */

static ms_tensor merge(ms_model *model, const tower *t, ms_tensor x)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    ms_dim tokens = ms_dim_number(s, t->images.count * model->run->images.grid.tokens);
    uint32_t previous = ms_scope_enter(tape, t->merger_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_tensor *normed =
        ms_local(&f, ms_view(tape, ms_qwen_norm_call(model, t->form, &t->ln_q, *input),
                             MS_SHAPE(tokens, t->merged)));
    ms_scope_enter(tape, t->merger_mlp_scope);
    ms_tensor *hidden = ms_local(&f, *normed); /* of the list's call, which has it twice */
    ms_assign(&f, hidden, ms_linear_call(model, &t->first, *hidden));
    ms_assign(&f, hidden, ms_gelu(tape, *hidden));
    ms_assign(&f, hidden, ms_linear_call(model, &t->second, *hidden));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* On the CPU the order of groups is a tensor like others. */
static ms_tensor order_of(ms_model *model, const tower *t)
{
    ms_dim groups = ms_dim_number(&model->tape->trace->symbols,
                                  t->images.count * model->run->images.grid.tokens);
    return model->tape->on_cpu && has_windows(model)
               ? ms_empty(model->tape, MS_SHAPE(groups), MS_DTYPE_I64)
               : 0;
}

/* The merged tokens back from the order of windows. */
static ms_tensor as_images(ms_model *model, const tower *t, ms_tensor merged, ms_tensor order)
{
    ms_dim tokens = ms_dim_number(&model->tape->trace->symbols,
                                  t->images.count * model->run->images.grid.tokens);
    return has_windows(model) ? ms_index_by_host(model->tape, merged, order, tokens) : merged;
}

/* Runs it on model->pixel_values. *last: the last block's states, [patches, Hv]; returns the merged
 * ones, [tokens, H]. Both float. */
static ms_tensor qwen2_tower_run(ms_model *model, ms_tensor pixels, ms_tensor *last)
{
    ms_tape *tape = model->tape;
    tower *t = model->tower;
    uint32_t previous = ms_scope_enter(tape, t->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, pixels);
    ms_tensor *positions = ms_local(&f, ms_qwen_grid_positions(model, &t->images));
    t->in_images.ends = *ms_local(&f, ms_qwen_ends(tape, t->images.count + 1));
    ms_tensor *order = ms_local(&f, order_of(model, t));
    if (has_windows(model))
        t->in_windows.ends = *ms_local(&f, ms_qwen_ends(tape, t->windows.listed + 1));
    ms_assign(&f, hidden, ms_qwen_project(model, &t->projection, *hidden));
    /* transformers 5 takes the patches for input embeddings, whose gradients checkpoints need */
    if (model->run->images.checkpoints || ms_inputs_require_grad(model))
        ms_require_grad(tape, *hidden);
    ms_assign(&f, hidden, in_windows(model, t, *hidden, *order));
    make_tables(model, t, &f, *positions, *order);
    for (uint64_t i = 0; i < model->config->vision.num_layers && tape->status == MS_OK; i++)
        ms_assign(&f, hidden, ms_qwen_block_call(&t->blocks[i], *hidden));
    ms_tensor *back = ms_local(&f, order_of(model, t));
    ms_tensor *merged = ms_local(&f, merge(model, t, *hidden));
    ms_assign(&f, merged, as_images(model, t, *merged, *back));
    ms_tensor result[2];
    ms_return_both(&f, *hidden, *merged, result);
    *last = result[0];
    tape->scope = previous;
    return result[1];
}

/* ---- qwen2 images ---- */

/* The locals of forward, in the order in which its frame drops them. */
typedef struct forward_locals {
    ms_tensor *position_ids, *embeds;
    ms_tensor *last, *merged; /* of the tower's output */
    ms_tensor *features, *image_mask, *video_mask;
} forward_locals;

static forward_locals locals_of(ms_locals *f)
{
    forward_locals l = {.position_ids = ms_local(f, 0), .embeds = ms_local(f, 0)};
    l.last = ms_local(f, 0);
    l.merged = ms_local(f, 0);
    l.features = ms_local(f, 0);
    l.image_mask = ms_local(f, 0);
    l.video_mask = ms_local(f, 0);
    return l;
}

/* get_image_features: the features of each image, joined, in the type of the embeddings. */
static void find_features(ms_model *model, ms_locals *f, const forward_locals *l)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return;
    ms_tensor pixels = ms_to(tape, model->pixel_values, model->run->dtype), last = 0;
    ms_retain(tape, pixels);
    ms_tensor merged = qwen2_tower_run(model, pixels, &last);
    ms_assign(f, l->merged, merged);
    ms_assign(f, l->last, last);
    ms_release(tape, pixels);
    ms_tensor joined = ms_join_images(model, *l->merged);
    if (joined)
        ms_assign(f, l->features, ms_to(tape, joined, (ms_dtype)ms_info(tape, *l->embeds)->dtype));
}

/* The text model's last hidden states, floating. */
static ms_tensor qwen2_run_with_images(ms_model *model, ms_decoder *d, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    uint32_t root = tape->trace->scopes.items[d->scope].parent;
    uint32_t previous = ms_scope_enter(tape, root);
    ms_locals f = ms_locals_begin(tape);
    const forward_locals l = locals_of(&f);
    ms_assign(&f, l.embeds, ms_decoder_embed(model, d, ids));
    find_features(model, &f, &l);
    ms_image_video_masks(model, &f, ids, l.image_mask, l.video_mask);
    ms_assign(&f, l.embeds, ms_masked_scatter(tape, *l.embeds, *l.image_mask, *l.features));
    ms_assign(&f, l.position_ids, ms_qwen_positions(model));
    ms_tensor outer = model->position_ids;
    model->position_ids = *l.position_ids;
    ms_tensor *hidden = ms_local(&f, ms_decoder_run(model, d, *l.embeds));
    model->position_ids = outer;
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* ---- qwen2 vl ---- */

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 152064, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 8192, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 29568, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 80, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 64, MAX_HEADS),
    KV_HEADS_OR(8),
    COUNT("max_position_embeddings", max_positions, 32768, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    FRACTION("attention_dropout", attention_dropout, 0),
    FIXED("use_sliding_window", false),
    LAYER_TYPES,
    PAD_TOKEN,
    DECODER_IGNORED,
    IGNORED("sliding_window"), IGNORED("max_window_layers"), IGNORED("tie_word_embeddings"),
};

/* The first files say in the text model's object whether words are tied. */
static const ms_key whole_keys[] = {
    { .name = "tie_word_embeddings", .aliases = {"/text_config/tie_word_embeddings"},
      .kind = MS_KEY_BOOL, .offset = MEMBER(tie_word_embeddings) },
};

/* The text model's width is "hidden_size" here. */
static const ms_key vision_keys[] = {
    COUNT_AS("depth", "num_hidden_layers", vision.num_layers, 32, MAX_LAYERS),
    COUNT("embed_dim", vision.hidden_size, 1280, MAX_HIDDEN),
    COUNT("mlp_ratio", vision.mlp_ratio, 4, 64),
    COUNT_AS("num_heads", "num_attention_heads", vision.num_heads, 16, MAX_HEADS),
    COUNT("in_channels", vision.channels, 3, MAX_HEADS),
    COUNT("patch_size", vision.patch_size, 14, MAX_HEADS),
    COUNT("spatial_merge_size", vision.merge_size, 2, 64),
    COUNT("temporal_patch_size", vision.frames, 2, MAX_HEADS),
    COUNT("hidden_size", vision.out_size, 3584, MAX_HIDDEN),
    { .name = "hidden_act", .kind = MS_KEY_ACTIVATION, .offset = MEMBER(vision.activation),
      .default_value = MS_ACTIVATION_QUICK_GELU },
};

static const ms_key windowed_keys[] = {
    COUNT_AS("depth", "num_hidden_layers", vision.num_layers, 32, MAX_LAYERS),
    COUNT("hidden_size", vision.hidden_size, 3584, MAX_HIDDEN),
    COUNT("intermediate_size", vision.intermediate_size, 3420, MAX_INTERMEDIATE),
    COUNT_AS("num_heads", "num_attention_heads", vision.num_heads, 16, MAX_HEADS),
    COUNT("in_channels", vision.channels, 3, MAX_HEADS),
    COUNT("patch_size", vision.patch_size, 14, MAX_HEADS),
    COUNT("spatial_merge_size", vision.merge_size, 2, 64),
    COUNT("temporal_patch_size", vision.frames, 2, MAX_HEADS),
    COUNT("out_hidden_size", vision.out_size, 3584, MAX_HIDDEN),
    COUNT("window_size", vision.window_size, 112, MAX_POSITIONS),
    { .name = "fullatt_block_indexes", .kind = MS_KEY_NUMBERS, .offset = MEMBER(vision.marked_blocks),
      .default_value = 0x80808080, .maximum = MS_MOST_BLOCKS - 1 },
    { .name = "hidden_act", .kind = MS_KEY_ACTIVATION, .offset = MEMBER(vision.activation),
      .default_value = MS_ACTIVATION_SILU },
};

/* clang-format on */

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.qkv_bias = true,
                                                      .projects_first = true,
                                                      .mask_arguments = true,
                                                      .masks_without_positions = true,
                                                      .layers_without_positions = true,
                                                      .rotary_tables = ms_rotary_of_sections,
                                                      .build_towers = qwen2_tower_new,
                                                      .run_with_images = qwen2_run_with_images});
}

static const ms_model_program program = {build, ms_decoder_forward};

/* "mlp_ratio" times the blocks' width. */
static ms_status derive(ms_model_config *config, ms_error *err)
{
    (void)err;
    config->vision.intermediate_size = config->vision.hidden_size * config->vision.mlp_ratio;
    return MS_OK;
}

#define MORE_TABLES(vision)                                                                        \
    {                                                                                              \
        {NULL, NULL, whole_keys, sizeof whole_keys / sizeof *whole_keys},                          \
            {"vision_config", NULL, vision, sizeof vision / sizeof *vision},                       \
    }

static const ms_key_table more[] = MORE_TABLES(vision_keys);
static const ms_key_table windowed_more[] = MORE_TABLES(windowed_keys);

static const ms_family_facts qwen2_vl_facts = {
    .compared = MS_WITH_ZERO3,
};

const ms_family ms_family_qwen2_vl = {
    .model_type = "qwen2_vl",
    .facts = &qwen2_vl_facts,
    .classes = {{"Qwen2VLForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .object = "text_config",
    .object_type = "qwen2_vl_text",
    .may_be_flat = true,
    .more = more,
    .more_count = sizeof more / sizeof *more,
    .derive = derive,
    .check = ms_check_heads_divide,
    .place_image = ms_qwen2_place_image,
    .program = &program};

static const ms_family_facts qwen2_5_vl_facts = {
    .compared = MS_WITH_ZERO3,
};

const ms_family ms_family_qwen2_5_vl = {
    .model_type = "qwen2_5_vl",
    .facts = &qwen2_5_vl_facts,
    .classes = {{"Qwen2_5_VLForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .object = "text_config",
    .object_type = "qwen2_5_vl_text",
    .may_be_flat = true,
    .more = windowed_more,
    .more_count = sizeof windowed_more / sizeof *windowed_more,
    .check = ms_check_heads_divide,
    .place_image = ms_qwen2_5_place_image,
    .program = &program};
