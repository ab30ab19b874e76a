/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ViT: an encoder of image patches, with a class token before them.
 */
#include "model/blocks/blocks.h"
#include "model/encoder/encoder.h"
#include "model/family/family_list.h"
#include "model/family/family_keys.h"
#include "torch/ops/ops.h"

enum { MAX_SIDE = 1 << 14, MAX_CHANNELS = 1 << 12 };

#define SIDES(text, member, value)                                                                 \
    {                                                                                              \
        .name = text, .kind = MS_KEY_SIDES, .offset = MEMBER(member), .default_value = value,      \
        .minimum = 1, .maximum = MAX_SIDE                                                          \
    }

/* clang-format off */
static const ms_key keys[] = {
    COUNT("hidden_size", hidden_size, 768, MAX_HIDDEN),
    COUNT("num_hidden_layers", num_layers, 12, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 12, MAX_HEADS),
    COUNT("intermediate_size", intermediate_size, 3072, MAX_INTERMEDIATE),
    SIDES("image_size", image_sides, 224),
    SIDES("patch_size", patch_sides, 16),
    COUNT("num_channels", num_channels, 3, MAX_CHANNELS),
    BOOL("qkv_bias", attention_bias, true),
    ACTIVATION("hidden_act", MS_ACTIVATION_GELU),
    FRACTION("hidden_dropout_prob", residual_dropout, 0),
    FRACTION("attention_probs_dropout_prob", attention_dropout, 0),
    IGNORED("encoder_stride"),
    IGNORED("initializer_range"),
    IGNORED("layer_norm_eps"),
    IGNORED("pooler_output_size"),
    IGNORED("pooler_act"),
};
/* clang-format on */

static ms_status derive(ms_model_config *config, ms_error *err)
{
    for (int i = 0; i < 2; i++)
        if (config->patch_sides[i] > config->image_sides[i]) {
            snprintf(err->pointer, sizeof err->pointer, "/patch_size");
            return ms_fail(err, MS_ERR_CONFIG, "%" PRIu64 " pixels, but the image has %" PRIu64,
                           config->patch_sides[i], config->image_sides[i]);
        }
    uint64_t rows = config->image_sides[0] / config->patch_sides[0];
    uint64_t columns = config->image_sides[1] / config->patch_sides[1];
    config->image_tokens = rows * columns + 1;
    config->max_positions = config->image_tokens;
    return MS_OK;
}

typedef struct layer {
    uint32_t scope, attention_scope, mlp_scope;
    ms_linear_module q_proj, k_proj, v_proj, o_proj, fc1, fc2;
    ms_norm_module before, after;
} layer;

typedef struct vit {
    uint32_t scope, embeddings_scope, projection_scope;
    ms_tensor cls_token, positions, projection, projection_bias;
    layer *layers;
    ms_norm_module norm;
    ms_linear_module classifier;
} vit;

/* ---- construction ---- */

static uint32_t child(ms_model *model, uint32_t parent, const char *name)
{
    return ms_scope_add(model->tape, parent, name, MS_NONE);
}

static void build_embeddings(ms_model *model, vit *v)
{
    const ms_model_config *config = model->config;
    ms_symbols *s = &model->tape->trace->symbols;
    ms_dim one = ms_dim_number(s, 1), hidden = model->hidden;
    ms_dim rows = ms_dim_number(s, config->patch_sides[0]);
    ms_dim columns = ms_dim_number(s, config->patch_sides[1]);
    uint32_t scope = v->embeddings_scope = child(model, v->scope, "embeddings");
    v->cls_token = ms_parameter_new(model, scope, "cls_token", MS_SHAPE(one, one, hidden));
    uint32_t second = model->tape->parameters.count;
    uint32_t projection = v->projection_scope =
        child(model, child(model, scope, "patch_embeddings"), "projection");
    v->projection =
        ms_parameter_new(model, projection, "weight",
                         MS_SHAPE(hidden, ms_dim_number(s, config->num_channels), rows, columns));
    v->projection_bias = ms_parameter_new(model, projection, "bias", MS_SHAPE(hidden));
    v->positions =
        ms_parameter_new(model, scope, "position_embeddings", MS_SHAPE(one, model->seq, hidden));
    ms_parameter_move_last(model, second);
}

static void build_layer(ms_model *model, vit *v, uint32_t parent, uint32_t number)
{
    char name[16];
    snprintf(name, sizeof name, "%u", number);
    layer *l = &v->layers[number];
    bool bias = model->config->attention_bias;
    ms_dim hidden = model->hidden, middle = model->intermediate;
    l->scope = ms_scope_add(model->tape, parent, name, number);
    uint32_t scope = l->attention_scope = child(model, l->scope, "attention");
    l->q_proj = ms_linear_new(model, scope, "q_proj", hidden, hidden, bias);
    l->k_proj = ms_linear_new(model, scope, "k_proj", hidden, hidden, bias);
    l->v_proj = ms_linear_new(model, scope, "v_proj", hidden, hidden, bias);
    l->o_proj = ms_linear_new(model, scope, "o_proj", hidden, hidden, true);
    l->before = ms_norm_new(model, l->scope, "layernorm_before", hidden, true);
    l->after = ms_norm_new(model, l->scope, "layernorm_after", hidden, true);
    scope = l->mlp_scope = child(model, l->scope, "mlp");
    l->fc1 = ms_linear_new(model, scope, "fc1", hidden, middle, true);
    l->fc2 = ms_linear_new(model, scope, "fc2", middle, hidden, true);
}

static bool build(ms_model *model)
{
    ms_tape *tape = model->tape;
    uint64_t count = model->config->num_layers;
    vit *v = ms_arena_array(model->arena, vit, 1);
    layer *layers = ms_arena_array(model->arena, layer, count);
    if (!v || !layers)
        return false;
    model->modules = v;
    model->softmax_in_fp32 = true;
    v->layers = layers;
    v->scope = child(model, MS_NONE, "vit");
    build_embeddings(model, v);
    uint32_t parent = child(model, v->scope, "layers");
    for (uint32_t i = 0; i < count && tape->status == MS_OK; i++)
        build_layer(model, v, parent, i);
    v->norm = ms_norm_new(model, v->scope, "layernorm", model->hidden, true);
    v->classifier = ms_linear_new(model, MS_NONE, "classifier", model->hidden, model->labels, true);
    return true;
}

/* ---- layers ---- */

static ms_tensor attention(ms_model *model, uint64_t number, ms_tensor x, ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const layer *l = &((const vit *)model->modules)->layers[number];
    uint32_t previous = ms_scope_enter(tape, l->attention_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    const ms_linear_module *const q_k_v[] = {&l->q_proj, &l->k_proj, &l->v_proj};
    ms_tensor *output = ms_attend_all(model, &f, number, q_k_v, *hidden, weights);
    ms_assign(&f, output, ms_linear_call(model, &l->o_proj, *output));
    ms_tensor result = ms_locals_end(&f, output);
    ms_unown(tape, *weights);
    tape->scope = previous;
    return result;
}

static ms_tensor mlp(ms_tape *tape, void *context, uint64_t number, ms_tensor x)
{
    ms_model *model = context;
    const vit *v = model->modules;
    const layer *l = &v->layers[number];
    uint32_t previous = ms_scope_enter(tape, l->mlp_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_assign(&f, hidden, ms_linear_call(model, &l->fc1, *hidden));
    ms_assign(&f, hidden, ms_activation_call(model, *hidden));
    ms_assign(&f, hidden, ms_linear_call(model, &l->fc2, *hidden));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static ms_tensor run_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    const vit *v = model->modules;
    const layer *l = &v->layers[number];
    double dropout = model->config->residual_dropout;
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor *residual = ms_local(&f, *hidden);
    ms_tensor weights;
    ms_assign(&f, hidden, ms_layer_norm_call(model, &l->before, *hidden));
    ms_assign(&f, hidden, attention(model, number, *hidden, &weights));
    ms_local(&f, weights);
    ms_assign(&f, hidden, ms_dropout(tape, *hidden, dropout));
    ms_assign(&f, hidden, ms_add(tape, *hidden, *residual));
    ms_assign(&f, residual, *hidden);
    ms_assign(&f, hidden, ms_layer_norm_call(model, &l->after, *hidden));
    const ms_region region = {.run = mlp, .context = model, .number = number};
    ms_assign(&f, hidden, ms_mlp_call(model, &region, *hidden));
    ms_assign(&f, hidden, ms_dropout(tape, *hidden, dropout));
    ms_assign(&f, hidden, ms_add(tape, *hidden, *residual));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* ---- forward ---- */

/* The patches as tokens: [B, S - 1, H] */
static ms_tensor project(ms_model *model, const vit *v, ms_tensor pixels)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    const ms_model_config *config = model->config;
    ms_dim rows = ms_dim_number(s, config->image_sides[0] / config->patch_sides[0]);
    ms_dim columns = ms_dim_number(s, config->image_sides[1] / config->patch_sides[1]);
    uint32_t previous = ms_scope_enter(tape, v->projection_scope);
    ms_tensor out = ms_patches(tape, pixels, v->projection, v->projection_bias, rows, columns);
    tape->scope = previous;
    ms_shape flat = MS_SHAPE(model->batch, model->hidden, ms_dim_mul(s, rows, columns));
    return ms_transpose(tape, ms_view(tape, out, flat), 1, 2);
}

static ms_tensor run_embeddings(ms_model *model, const vit *v, ms_tensor pixels)
{
    ms_tape *tape = model->tape;
    ms_dim one = ms_dim_number(&tape->trace->symbols, 1);
    uint32_t previous = ms_scope_enter(tape, v->embeddings_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *embedded = ms_local(&f, project(model, v, pixels));
    ms_shape first = MS_SHAPE(model->batch, one, model->hidden);
    ms_tensor *cls = ms_local(&f, ms_expand(tape, v->cls_token, first));
    /* Autocast joins in the wider type of the two. */
    ms_tensor patches = ms_to(tape, *embedded, model->run->dtype);
    ms_assign(&f, embedded, ms_cat2(tape, *cls, patches, 1));
    ms_assign(&f, embedded, ms_add(tape, *embedded, v->positions));
    ms_assign(&f, embedded, ms_dropout(tape, *embedded, model->config->residual_dropout));
    ms_tensor result = ms_locals_end(&f, embedded);
    tape->scope = previous;
    return result;
}

static ms_tensor run_model(ms_model *model, const vit *v, ms_tensor pixels)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, v->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *embedded = ms_local(&f, run_embeddings(model, v, pixels));
    ms_tensor *hidden = ms_local(&f, *embedded);
    for (uint32_t i = 0; i < model->config->num_layers && tape->status == MS_OK; i++) {
        const ms_region region = {.run = run_layer, .context = model, .number = i};
        ms_assign(&f, hidden, ms_layer_call(model, &region, *hidden));
    }
    ms_tensor *out = ms_local(&f, ms_layer_norm_call(model, &v->norm, *hidden));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

static void forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    ms_tape *tape = model->tape;
    const vit *v = model->modules;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_local(&f, run_model(model, v, in->ids));
    ms_tensor *pooled = ms_local(&f, ms_select(tape, *hidden, 1));
    ms_tensor *logits = ms_local(&f, ms_linear_call(model, &v->classifier, *pooled));
    if (in->keeps_hidden)
        out->hidden = ms_hand_out(tape, *hidden);
    if (in->keeps_logits || !in->labels)
        out->logits = ms_hand_out(tape, *logits);
    ms_forward_end(&f, ms_local(&f, in->labels ? ms_class_loss(model, *logits) : 0), out);
}

static const ms_model_program program = {build, forward};

static const ms_family_facts facts = {
    .peft = {.usual_lora = "query+value"},
};

const ms_family ms_family_vit = {.model_type = "vit",
                                 .facts = &facts,
                                 .classes = {{"ViTForImageClassification", MS_HEAD_FIRST_TOKEN}},
                                 .keys = keys,
                                 .key_count = sizeof keys / sizeof *keys,
                                 .derive = derive,
                                 .is_bidirectional = true,
                                 .program = &program};
