/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Qwen3-VL: Qwen3 with or without experts, rotary tables of three grids, and a vision tower, which
 * runs where there are images.
 */
#include "input/config/model/family.h"
#include "model/decoder/decoder.h"
#include "model/decoder/decoder_mlp.h"
#include "model/decoder/experts.h"
#include "model/decoder/router_loss.h"
#include "model/family/family_list.h"
#include "model/blocks/images.h"
#include "model/vision/qwen/image.h"
#include "model/vision/qwen/patches.h"
#include "model/vision/qwen/qwen3_tower.h"
#include "torch/ops/moe/rows.h"
#include "torch/ops/ops.h"

/* ---- qwen3 images ---- */

/* Qwen3VLModel.forward with images: as Qwen2-VL, and the features of inner blocks are added to
 * the image tokens behind the first layers of the text model. */

/* Of the running pass, kept in model->projector: the features of inner blocks, split by image and
 * joined, and the mask of image tokens. */
typedef struct deep_features {
    uint32_t count;
    ms_tensor *made, *joined; /* retained */
    ms_tensor mask;
} deep_features;

static deep_features *features_of(ms_model *model)
{
    deep_features *deep = model->projector;
    uint32_t count = ms_qwen_deep_count(&model->config->vision);
    if (deep)
        return deep;
    deep = ms_arena_array(model->arena, deep_features, 1);
    ms_tensor *made = ms_arena_array(model->arena, ms_tensor, count + 1);
    ms_tensor *joined = ms_arena_array(model->arena, ms_tensor, count + 1);
    if (!deep || !made || !joined) {
        ms_tape_fail(model->tape, MS_ERR_NOMEM);
        return NULL;
    }
    *deep = (deep_features){.count = count, .made = made, .joined = joined};
    model->projector = deep;
    return deep;
}

static void drop(ms_tape *tape, uint32_t count, ms_tensor *list)
{
    for (uint32_t i = 0; i < count; i++) {
        ms_release(tape, list[i]);
        list[i] = 0;
    }
}

/* The locals of forward, in the order in which its frame drops them. */
typedef struct forward_locals {
    ms_tensor *position_ids, *embeds, *last, *merged, *image_mask, *features, *video_mask;
} forward_locals;

static forward_locals locals_of(ms_locals *f)
{
    forward_locals l = {.position_ids = ms_local(f, 0), .embeds = ms_local(f, 0)};
    l.last = ms_local(f, 0);
    l.merged = ms_local(f, 0);
    l.image_mask = ms_local(f, 0);
    l.features = ms_local(f, 0);
    l.video_mask = ms_local(f, 0);
    return l;
}

static void find_features(ms_model *model, ms_locals *f, const forward_locals *l,
                          deep_features *deep)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape) || !deep)
        return;
    ms_tensor pixels = ms_to(tape, model->pixel_values, model->run->dtype);
    ms_retain(tape, pixels);
    const ms_qwen_vision_result seen = ms_qwen_vision_run(model, pixels, deep->made);
    ms_assign(f, l->merged, seen.merged);
    ms_assign(f, l->last, seen.last);
    ms_release(tape, pixels);
    ms_tensor all = ms_join_images(model, *l->merged);
    if (all && !ms_idle(tape))
        ms_assign(f, l->features, ms_to(tape, all, (ms_dtype)ms_info(tape, *l->embeds)->dtype));
}

/* The mask without its last dimension, and the deep features joined. */
static void prepare_deep(ms_model *model, ms_locals *f, const forward_locals *l,
                         deep_features *deep)
{
    ms_tape *tape = model->tape;
    if (!deep || ms_idle(tape))
        return;
    ms_assign(f, l->image_mask, ms_view(tape, *l->image_mask, MS_SHAPE(model->batch, model->seq)));
    deep->mask = *l->image_mask;
    for (uint32_t i = 0; i < deep->count && !ms_idle(tape); i++) {
        deep->joined[i] = ms_join_images(model, deep->made[i]);
        ms_retain(tape, deep->joined[i]);
    }
}

/* _deepstack_process: the features are added to the image tokens of a copy. */
static ms_tensor add_deep(ms_model *model, uint32_t number, ms_tensor hidden)
{
    ms_tape *tape = model->tape;
    const deep_features *deep = model->projector;
    if (!deep || number >= deep->count || ms_idle(tape) || !hidden)
        return hidden;
    ms_locals f = ms_locals_begin(tape);
    ms_dtype dtype = (ms_dtype)ms_info(tape, hidden)->dtype;
    ms_tensor *states = ms_argument(&f, hidden);
    ms_tensor *features = ms_local(&f, ms_to(tape, deep->joined[number], dtype));
    ms_assign(&f, states, ms_clone(tape, *states));
    if (ms_idle(tape))
        return ms_locals_end(&f, states);
    ms_dim count = ms_info(tape, *features)->shape.dims[0];
    ms_tensor picked = ms_index_mask(tape, *states, deep->mask, count);
    ms_tensor *changed = ms_local(&f, ms_add(tape, picked, *features));
    ms_assign(&f, states, ms_put_mask(tape, *states, deep->mask, *changed));
    return ms_locals_end(&f, states);
}

static ms_tensor run_with_images(ms_model *model, ms_decoder *d, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    deep_features *deep = features_of(model);
    uint32_t root = tape->trace->scopes.items[d->scope].parent;
    uint32_t previous = ms_scope_enter(tape, root);
    ms_locals f = ms_locals_begin(tape);
    const forward_locals l = locals_of(&f);
    ms_assign(&f, l.embeds, ms_decoder_embed(model, d, ids));
    find_features(model, &f, &l, deep);
    ms_image_video_masks(model, &f, ids, l.image_mask, l.video_mask);
    ms_assign(&f, l.embeds, ms_masked_scatter(tape, *l.embeds, *l.image_mask, *l.features));
    prepare_deep(model, &f, &l, deep);
    ms_assign(&f, l.position_ids, ms_qwen_positions(model));
    ms_tensor outer = model->position_ids;
    model->position_ids = *l.position_ids;
    ms_tensor *hidden = ms_local(&f, ms_decoder_run(model, d, *l.embeds));
    model->position_ids = outer;
    ms_assign(&f, l.position_ids, 0);
    ms_assign(&f, l.embeds, 0);
    ms_assign(&f, l.last, 0);
    ms_assign(&f, l.merged, 0);
    ms_assign(&f, l.features, 0);
    if (deep)
        drop(tape, deep->count, deep->made);
    ms_assign(&f, l.image_mask, 0);
    ms_assign(&f, l.video_mask, 0);
    if (deep)
        drop(tape, deep->count, deep->joined);
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* Gives the style what a run with images has. */
static void qwen3_see_images(const ms_model *model, ms_decoder_style *style)
{
    if (!model->run->images.count)
        return;
    style->run_with_images = run_with_images;
    style->after_layer = add_deep;
    /* with positions of three grids there are none of the text */
    style->masks_without_positions = true;
    style->layers_without_positions = true;
}

/* ---- qwen3 vl ---- */

/* clang-format off */
static const ms_key dense_keys[] = {
    COUNT("vocab_size", vocab_size, 151936, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 22016, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 32, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    KV_HEADS_OR(32),
    COUNT("head_dim", head_dim, 128, MAX_HEAD_DIM),
    COUNT("max_position_embeddings", max_positions, 128000, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("attention_bias", attention_bias, false),
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    DECODER_IGNORED, IGNORED("tie_word_embeddings"),
};

static const ms_key moe_keys[] = {
    COUNT("vocab_size", vocab_size, 151936, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 2048, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 5632, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 24, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 16, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 16, MAX_HEADS),
    HEAD_DIM_FROM_HIDDEN,
    COUNT("max_position_embeddings", max_positions, 128000, MAX_POSITIONS),
    EXPERTS("num_experts", "num_local_experts", 60),
    EXPERTS_PER_TOKEN(4),
    COUNT("moe_intermediate_size", expert_size, 1408, MAX_INTERMEDIATE),
    COUNT("decoder_sparse_step", sparse_step, 1, MAX_LAYERS),
    DENSE_LAYERS,
    ROUTER_LOGITS,
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("attention_bias", attention_bias, false),
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    DECODER_IGNORED, IGNORED("tie_word_embeddings"), IGNORED("router_aux_loss_coef"), IGNORED("norm_topk_prob"),
};

static const ms_key whole_keys[] = { BOOL("tie_word_embeddings", tie_word_embeddings, false) };

static const ms_key vision_keys[] = {
    QWEN_VISION_KEYS,
    { .name = "deepstack_visual_indexes", .kind = MS_KEY_NUMBERS, .offset = MEMBER(vision.marked_blocks),
      .default_value = 0x1010100, .maximum = MS_MOST_BLOCKS - 1 },
};

/* clang-format on */

static ms_decoder_style style_of(const ms_model_config *config)
{
    return (ms_decoder_style){.qkv_bias = config->attention_bias,
                              .output_bias = config->attention_bias,
                              .head_norms = MS_HEAD_NORMS_AT_ONCE,
                              .rotary_tables = ms_rotary_of_grids,
                              .build_towers = ms_qwen_vision_new};
}

static bool build(ms_model *model)
{
    ms_decoder_style style = style_of(model->config);
    qwen3_see_images(model, &style);
    return ms_decoder_build(model, style);
}

/* ---- with experts ---- */

static void *build_mlp(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    return ms_layer_is_sparse(model, number) ? ms_sparse_mlp_new(model, parent, MS_EXPERTS_FIRST)
                                             : ms_gated_mlp_new(model, d, parent, number);
}

static ms_tensor mlp(ms_model *model, const ms_decoder_layer *layer, ms_tensor hidden)
{
    static const ms_router_form form = {.normalises = true, .casts_back = true};
    return ms_layer_is_sparse(model, layer->number) ? ms_sparse_mlp(model, layer->mlp, form, hidden)
                                                    : ms_gated_mlp(model, layer, hidden);
}

static bool build_moe(ms_model *model)
{
    ms_decoder_style style = style_of(model->config);
    style.build_mlp = build_mlp;
    style.mlp = mlp;
    style.add_loss = ms_router_loss_add;
    style.drop = ms_router_logits_drop;
    qwen3_see_images(model, &style);
    return ms_decoder_build(model, style);
}

static uint8_t moe_kind(const ms_model_config *config, uint64_t layer)
{
    return (layer + 1) % config->sparse_step == 0 ? MS_LAYER_SPARSE : 0;
}

/* ---- families ---- */

static const ms_model_program program = {build, ms_decoder_forward};
static const ms_model_program moe_program = {build_moe, ms_decoder_forward};

static const ms_key_table more[] = {
    {NULL, NULL, whole_keys, sizeof whole_keys / sizeof *whole_keys},
    {"vision_config", NULL, vision_keys, sizeof vision_keys / sizeof *vision_keys},
};

static const ms_family_facts qwen3_vl_facts = {
    .has_head_norms = true,
};

const ms_family ms_family_qwen3_vl = {
    .model_type = "qwen3_vl",
    .facts = &qwen3_vl_facts,
    .classes = {{"Qwen3VLForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .keys = dense_keys,
    .key_count = sizeof dense_keys / sizeof *dense_keys,
    .object = "text_config",
    .object_type = "qwen3_vl_text",
    .more = more,
    .more_count = sizeof more / sizeof *more,
    .place_image = ms_qwen3_place_image,
    .unpredicted = MS_UNPREDICTED_IMAGES_ON_RANKS,
    .program = &program};

static const ms_family_facts qwen3_vl_moe_facts = {
    .compared = MS_WITH_ZERO3 | MS_WITH_ZERO3_EXPERTS,
    .has_head_norms = true,
};

const ms_family ms_family_qwen3_vl_moe = {
    .model_type = "qwen3_vl_moe",
    .facts = &qwen3_vl_moe_facts,
    .classes = {{"Qwen3VLMoeForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .keys = moe_keys,
    .key_count = sizeof moe_keys / sizeof *moe_keys,
    .object = "text_config",
    .object_type = "qwen3_vl_moe_text",
    .more = more,
    .more_count = sizeof more / sizeof *more,
    .check = ms_check_experts,
    .layer_kind = moe_kind,
    .place_image = ms_qwen3_place_image,
    .unpredicted = MS_UNPREDICTED_IMAGES_ON_RANKS,
    .program = &moe_program};
