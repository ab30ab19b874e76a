/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * LLaVA 1.5: Llama, with CLIP's vision tower and a projector of two layers, which run where there
 * are images.
 */
#include <inttypes.h>

#include "input/config/model/model_config.h"
#include "model/blocks/blocks.h"
#include "model/blocks/model.h"
#include "model/decoder/decoder.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"
#include "model/vision/image_tokens.h"
#include "model/vision/picture_layers.h"
#include "torch/autograd/graph.h"
#include "torch/ops/ops.h"

/* LLaVA with images (LlavaModel.forward): states of CLIP's patches, projected by two layers, take
 * the place of the embeddings of image tokens. */

/* ---- clip ---- */

/* CLIP's vision tower (CLIPVisionModel of transformers). */

/* What a pass over pictures returns, floating: [pictures, patches + 1, Hv]. */
typedef struct ms_clip_result {
    ms_tensor last;     /* of the last layer */
    ms_tensor pooled;   /* of the class token, behind the last norm, [pictures, Hv] */
    ms_tensor selected; /* in front of layer `selected` (of as many as there are: the last) */
    /* The graph behind `selected`, for ms_graph_forget: nodes of `last` from the first number up to
     * the second, those of `pooled` up to the third. */
    uint32_t nodes[3];
} ms_clip_result;

typedef struct tower {
    uint32_t scope, embeddings_scope, patches_scope, positions_scope;
    ms_tensor class_embedding, projection, positions, position_ids;
    ms_picture_layers layers;
    ms_norm_module before, after;
} tower;

/* ---- construction ---- */

static uint32_t child(ms_model *model, uint32_t parent, const char *name)
{
    return ms_scope_add(model->tape, parent, name, MS_NONE);
}

/* torch.randn(Hv), of which the parameter is made. */
static void class_new(ms_model *model, tower *t, ms_dim hidden)
{
    t->class_embedding =
        ms_parameter_new(model, t->embeddings_scope, "class_embedding", MS_SHAPE(hidden));
}

static void embeddings_new(ms_model *model, tower *t, ms_dim hidden)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    uint64_t side = ms_picture_side(vision);
    ms_dim one = {.value = 1}, patch = ms_dim_number(s, vision->patch_size);
    ms_dim positions = ms_dim_number(s, side * side + 1);
    t->embeddings_scope = child(model, t->scope, "embeddings");
    class_new(model, t, hidden);
    t->patches_scope = child(model, t->embeddings_scope, "patch_embedding");
    t->projection =
        ms_parameter_new(model, t->patches_scope, "weight",
                         MS_SHAPE(hidden, ms_dim_number(s, vision->channels), patch, patch));
    t->positions =
        ms_embedding_new(model, t->embeddings_scope, "position_embedding", positions, hidden);
    t->positions_scope = model->tape->trace->scopes.count - 1;
    t->position_ids = ms_buffer_new(model, MS_SHAPE(one, positions), MS_DTYPE_I64, "position_ids");
}

/* Creates the parameters below `parent`, from config->vision, and sets model->tower. False when out
 * of memory. */
static bool clip_new(ms_model *model, uint32_t parent)
{
    ms_dim hidden =
        ms_dim_name(&model->tape->trace->symbols, "Hv", model->config->vision.hidden_size);
    tower *t = ms_arena_array(model->arena, tower, 1);
    if (!t)
        return false;
    model->tower = t;
    t->scope = child(model, parent, "vision_tower");
    embeddings_new(model, t, hidden);
    t->before = ms_norm_new(model, t->scope, "pre_layrnorm", hidden, true);
    t->layers.norms_last = t->layers.projects_first = true;
    if (!ms_picture_layers_new(model, &t->layers, t->scope))
        return false;
    t->after = ms_norm_new(model, t->scope, "post_layernorm", hidden, true);
    return true;
}

/* ---- forward ---- */

static ms_tensor embed(ms_model *model, const tower *t, ms_tensor pixels)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, t->embeddings_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *patches =
        ms_local(&f, ms_picture_project(model, t->patches_scope, t->projection, 0, pixels));
    ms_assign(&f, patches, ms_picture_tokens(tape, *patches));
    ms_tensor *embedded = ms_local(&f, 0);
    if (!ms_idle(tape) && *patches) {
        const ms_shape shape = ms_info(tape, *patches)->shape;
        ms_dim one = {.value = 1};
        ms_tensor *class_embeds = ms_local(
            &f, ms_expand(tape, t->class_embedding, MS_SHAPE(shape.dims[0], one, shape.dims[2])));
        ms_assign(&f, embedded, ms_cat2(tape, *class_embeds, *patches, 1));
        ms_scope_enter(tape, t->positions_scope);
        ms_tensor positions = ms_embedding(tape, t->positions, t->position_ids);
        ms_scope_enter(tape, t->embeddings_scope);
        ms_assign(&f, embedded, ms_add(tape, *embedded, positions));
    }
    ms_tensor result = ms_locals_end(&f, embedded);
    tape->scope = previous;
    return result;
}

/* The class token of the last states, normed. */
static ms_tensor pool(ms_model *model, const tower *t, ms_locals *f, ms_tensor last)
{
    ms_tensor *pooled = ms_local(f, ms_select(model->tape, last, 1));
    ms_assign(f, pooled, ms_layer_norm_call(model, &t->after, *pooled));
    return *pooled;
}

static ms_clip_result clip_run(ms_model *model, ms_tensor pixels, uint64_t selected)
{
    ms_tape *tape = model->tape;
    tower *t = model->tower;
    uint64_t end = model->config->vision.num_layers;
    uint32_t previous = ms_scope_enter(tape, t->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_local(&f, embed(model, t, pixels));
    ms_assign(&f, hidden, ms_layer_norm_call(model, &t->before, *hidden));
    ms_tensor chosen = ms_picture_layers_run(&t->layers, 0, selected, *hidden);
    ms_retain(tape, chosen);
    ms_clip_result out = {.selected = chosen, .nodes = {tape->nodes.count}};
    ms_tensor *last = ms_local(&f, ms_picture_layers_run(&t->layers, selected, end, chosen));
    out.nodes[1] = tape->nodes.count;
    out.pooled = pool(model, t, &f, *last);
    out.nodes[2] = tape->nodes.count;
    ms_retain(tape, out.pooled);
    out.last = ms_locals_end(&f, last);
    ms_unown(tape, out.pooled);
    ms_unown(tape, out.selected);
    tape->scope = previous;
    return out;
}

/* ---- places ---- */

/* A family's `place_image`: of any size the processor makes a picture of the tower's, each patch of
 * which is a token; so is the class token where features are "full". */
static ms_status llava_place_image(const ms_model_config *config, const uint64_t sides[2],
                                   ms_image_grid *grid, ms_error *err)
{
    (void)sides;
    const ms_vision_config *vision = &config->vision;
    uint64_t side = ms_picture_side(vision);
    if (vision->hidden_size % vision->num_heads != 0)
        return ms_fail(err, MS_ERR_CONFIG,
                       "the tower's %" PRIu64 " heads do not divide its %" PRIu64 " elements",
                       vision->num_heads, vision->hidden_size);
    if (side == 0)
        return ms_fail(err, MS_ERR_CONFIG,
                       "the tower's patches of %" PRIu64 " pixels are larger than its pictures of "
                       "%" PRIu64,
                       vision->patch_size, vision->image_size);
    if (vision->feature_layer == 0)
        return ms_fail(err, MS_ERR_CONFIG,
                       "transformers takes a vision_feature_layer of 0 for none and stops: count "
                       "from the end");
    *grid = (ms_image_grid){
        .rows = side, .columns = side, .tokens = side * side + (vision->keeps_class ? 1 : 0)};
    return MS_OK;
}

/* ---- construction ---- */

typedef struct projector {
    uint32_t scope;
    ms_linear_module first, second;
} projector;

/* Creates the tower and the projector below `scope`; a member of ms_decoder_style. */
static bool llava_towers_new(ms_model *model, uint32_t scope)
{
    projector *p = ms_arena_array(model->arena, projector, 1);
    const ms_vision_config *vision = &model->config->vision;
    uint32_t start = model->tape->parameters.count;
    if (!p || !clip_new(model, scope))
        return false;
    if (model->run->images.frozen && !model->run->adapter) /* which freezes by itself */
        ms_parameters_freeze(model, start, model->tape->parameters.count);
    ms_dim width = ms_dim_name(&model->tape->trace->symbols, "Hv", vision->hidden_size);
    p->scope = ms_scope_add(model->tape, scope, "multi_modal_projector", MS_NONE);
    p->first =
        ms_linear_new(model, p->scope, "linear_1", width, model->hidden, vision->projector_bias);
    p->second = ms_linear_new(model, p->scope, "linear_2", model->hidden, model->hidden,
                              vision->projector_bias);
    model->projector = p;
    return true;
}

/* ---- features ---- */

/* LlavaMultiModalProjector.forward: [pictures, tokens, H] */
static ms_tensor project(ms_model *model, ms_tensor x)
{
    ms_tape *tape = model->tape;
    const projector *p = model->projector;
    uint32_t previous = ms_scope_enter(tape, p->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, x);
    ms_tensor *hidden = ms_local(&f, ms_linear_call(model, &p->first, *input));
    ms_assign(&f, hidden, ms_activate(tape, model->config->vision.projector_activation, *hidden));
    ms_assign(&f, hidden, ms_linear_call(model, &p->second, *hidden));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* The states that are projected: without the class token's, unless the config keeps it. */
static ms_tensor patches_of(ms_model *model, ms_tensor x)
{
    ms_tape *tape = model->tape;
    if (model->config->vision.keeps_class || ms_idle(tape) || !x)
        return x;
    return ms_narrow(tape, x, 1,
                     ms_dim_number(&tape->trace->symbols, model->run->images.grid.tokens));
}

/* list(x) and torch.cat of it: [pictures * tokens, H] */
static ms_tensor joined(ms_model *model, ms_tensor x)
{
    ms_tape *tape = model->tape;
    uint32_t count = ms_image_count(model);
    ms_tensor *parts = ms_arena_array(model->arena, ms_tensor, count);
    if (!parts)
        ms_tape_fail(tape, MS_ERR_NOMEM);
    if (ms_idle(tape) || !x)
        return 0;
    ms_unbind(tape, x, 0, count, parts);
    return ms_cat_list(tape, count, parts, 0);
}

/* The locals of forward, in the order in which its frame drops them. */
typedef struct forward_locals {
    ms_tensor *embeds;
    ms_tensor *last, *projected, *selected; /* of the tower's output */
    ms_tensor *features, *mask;
} forward_locals;

static forward_locals locals_of(ms_locals *f)
{
    forward_locals l = {.embeds = ms_local(f, 0), .last = ms_local(f, 0)};
    l.projected = ms_local(f, 0);
    l.selected = ms_local(f, 0);
    l.features = ms_local(f, 0);
    l.mask = ms_local(f, 0);
    return l;
}

/* get_image_features; the features that are projected take the place of the pooled ones. */
static ms_clip_result find_features(ms_model *model, ms_locals *f, const forward_locals *l)
{
    ms_tape *tape = model->tape;
    const ms_clip_result seen =
        clip_run(model, model->pixel_values, model->config->vision.feature_layers);
    ms_assign(f, l->last, seen.last);
    ms_assign(f, l->selected, seen.selected);
    ms_retain(tape, seen.pooled);
    ms_assign(f, l->projected, project(model, patches_of(model, *l->selected)));
    ms_release(tape, seen.pooled);
    ms_graph_forget(tape, seen.nodes[1], seen.nodes[2]);
    ms_tensor all = joined(model, *l->projected);
    if (all && !ms_idle(tape))
        ms_assign(f, l->features, ms_to(tape, all, (ms_dtype)ms_info(tape, *l->embeds)->dtype));
    return seen;
}

/* The text model's last hidden states of ids and images, floating. *features: of the images, which
 * the model hands out with its result, retained. */
static ms_tensor llava_run_with_images(ms_model *model, ms_decoder *d, ms_tensor ids,
                                       ms_tensor *features)
{
    ms_tape *tape = model->tape;
    uint32_t root = tape->trace->scopes.items[d->scope].parent;
    uint32_t previous = ms_scope_enter(tape, root);
    ms_locals f = ms_locals_begin(tape);
    const forward_locals l = locals_of(&f);
    ms_assign(&f, l.embeds, ms_decoder_embed(model, d, ids));
    const ms_clip_result seen = find_features(model, &f, &l);
    ms_assign(&f, l.mask, ms_image_token_mask(model, ids));
    ms_assign(&f, l.embeds, ms_masked_scatter(tape, *l.embeds, *l.mask, *l.features));
    ms_tensor *hidden = ms_local(&f, ms_decoder_run(model, d, *l.embeds));
    *features = tape->stopped ? 0 : *l.features;
    ms_retain(tape, *features);
    ms_assign(&f, l.embeds, 0);
    ms_assign(&f, l.last, 0);
    ms_graph_forget(tape, seen.nodes[0], seen.nodes[1]);
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* ---- llava ---- */

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 32000, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 11008, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 32, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    KV_HEADS_AS_HEADS,
    HEAD_DIM_FROM_HIDDEN,
    COUNT("max_position_embeddings", max_positions, 2048, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("attention_bias", attention_bias, false),
    BOOL("mlp_bias", mlp_bias, false),
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    IGNORED("pretraining_tp"), IGNORED("tie_word_embeddings"),
    DECODER_IGNORED,
};

static const ms_key whole_keys[] = {
    { .name = "tie_word_embeddings", .aliases = {"/text_config/tie_word_embeddings"},
      .kind = MS_KEY_BOOL, .offset = MEMBER(tie_word_embeddings) },
    { .name = "image_token_index", .aliases = {"image_token_id"}, .kind = MS_KEY_COUNT,
      .offset = MEMBER(image_token_id), .default_value = 32000, .maximum = MAX_VOCAB },
    { .name = "projector_hidden_act", .kind = MS_KEY_ACTIVATION,
      .offset = MEMBER(vision.projector_activation), .default_value = MS_ACTIVATION_GELU },
    CHOICE("vision_feature_select_strategy", vision.keeps_class, "default", "full"),
    { .name = "vision_feature_layer", .kind = MS_KEY_INTEGER, .offset = MEMBER(vision.feature_layer),
      .default_value = -2, .maximum = MAX_LAYERS },
    BOOL("multimodal_projector_bias", vision.projector_bias, true),
};

/* CLIP's own defaults: those of LLaVA stand in for the whole object alone. */
static const ms_key vision_keys[] = {
    COUNT("hidden_size", vision.hidden_size, 768, MAX_HIDDEN),
    COUNT("intermediate_size", vision.intermediate_size, 3072, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", vision.num_layers, 12, MAX_LAYERS),
    COUNT("num_attention_heads", vision.num_heads, 12, MAX_HEADS),
    COUNT("num_channels", vision.channels, 3, MAX_HEADS),
    COUNT("image_size", vision.image_size, 224, MAX_HIDDEN),
    COUNT("patch_size", vision.patch_size, 32, MAX_HEADS),
    { .name = "hidden_act", .kind = MS_KEY_ACTIVATION, .offset = MEMBER(vision.activation),
      .default_value = MS_ACTIVATION_QUICK_GELU },
    FRACTION("attention_dropout", vision.dropout, 0),
};

/* clang-format on */

/* Layers that run before the states that are projected, counted from the end where it is negative.
 */
static ms_status derive(ms_model_config *config, ms_error *err)
{
    ms_vision_config *vision = &config->vision;
    int64_t states = (int64_t)vision->num_layers + 1, layer = vision->feature_layer;
    if (layer < -states || layer >= states) {
        snprintf(err->pointer, sizeof err->pointer, "/vision_feature_layer");
        return ms_fail(err, MS_ERR_CONFIG,
                       "vision_feature_layer is %" PRId64 ", but the tower has %" PRIu64 " layers",
                       layer, vision->num_layers);
    }
    vision->feature_layers = (uint64_t)(layer < 0 ? layer + states : layer);
    return MS_OK;
}

static ms_status check(const ms_model_config *config, ms_error *err)
{
    if (config->vision.dropout > 0) {
        snprintf(err->pointer, sizeof err->pointer, "/vision_config/attention_dropout");
        return ms_fail(err, MS_ERR_CONFIG, "dropout in the tower is not supported");
    }
    if (config->image_token_id < config->vocab_size)
        return ms_check_heads_divide(config, err);
    snprintf(err->pointer, sizeof err->pointer, "/vocab_size");
    return ms_fail(err, MS_ERR_CONFIG,
                   "an image token of %" PRIu64 " beyond the vocabulary of %" PRIu64
                   " is not supported",
                   config->image_token_id, config->vocab_size);
}

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.qkv_bias = model->config->attention_bias,
                                                      .output_bias = model->config->attention_bias,
                                                      .mlp_bias = model->config->mlp_bias,
                                                      .build_towers = llava_towers_new});
}

static void forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    if (model->run->images.count)
        ms_forward_with_features(model, in, out, llava_run_with_images);
    else
        ms_decoder_forward(model, in, out);
}

static const ms_model_program program = {build, forward};

static const ms_key_table more[] = {
    {NULL, NULL, whole_keys, sizeof whole_keys / sizeof *whole_keys},
    {"vision_config", "clip_vision_model", vision_keys, sizeof vision_keys / sizeof *vision_keys},
};

const ms_family ms_family_llava = {
    .model_type = "llava",
    .classes = {{"LlavaForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .object = "text_config",
    .object_type = "llama",
    .more = more,
    .more_count = sizeof more / sizeof *more,
    .derive = derive,
    .check = check,
    .place_image = llava_place_image,
    .image_input = MS_IMAGES_AS_PICTURES,
    .program = &program};
