/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Llama 4's text model: layers that attend within chunks and layers without rotary embeddings,
 * heads turned as complex numbers and then normalised, and experts in all layers or every N-th.
 */
#include "input/config/model/family.h"
#include "model/blocks/cache.h"
#include "model/decoder/decoder_layer.h"
#include "model/decoder/decoder_tables.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"
#include "model/mixture/complex_rotary.h"
#include "model/mixture/llama4_moe.h"
#include "model/vision/llama4_vision.h"
#include "torch/ops/ops.h"

/* clang-format off */
#define TEXT_KEYS \
    COUNT("vocab_size", vocab_size, 202048, MAX_VOCAB), \
    COUNT("hidden_size", hidden_size, 5120, MAX_HIDDEN), \
    COUNT("intermediate_size", expert_size, 8192, MAX_INTERMEDIATE), \
    COUNT("intermediate_size_mlp", intermediate_size, 16384, MAX_INTERMEDIATE), \
    COUNT("num_hidden_layers", num_layers, 48, MAX_LAYERS), \
    COUNT("num_attention_heads", num_heads, 40, MAX_HEADS), \
    KV_HEADS_OR(8), \
    HEAD_DIM_OR(128), \
    COUNT("max_position_embeddings", max_positions, 131072, MAX_POSITIONS), \
    EXPERTS("num_local_experts", "num_experts", 16), \
    EXPERTS_PER_TOKEN(1), \
    COUNT("interleave_moe_layer_step", sparse_step, 1, MAX_LAYERS), \
    { .name = "moe_layers", .kind = MS_KEY_SPARSE_LAYERS }, \
    BOOL("use_qk_norm", head_norms, true), \
    BOOL("attn_temperature_tuning", tunes_temperature, true), \
    COUNT("no_rope_layer_interval", no_rotary_interval, 4, MAX_LAYERS), \
    { .name = "no_rope_layers", .kind = MS_KEY_ROTARY_LAYERS, .may_be_empty = true }, \
    COUNT("attention_chunk_size", sliding_window, 8192, MAX_POSITIONS), \
    { .name = "layer_types", .kind = MS_KEY_LAYER_TYPES, .choices = {NULL, "chunked_attention"} }, \
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU), \
    BOOL("tie_word_embeddings", tie_word_embeddings, false), \
    BOOL("attention_bias", attention_bias, false), \
    FRACTION("attention_dropout", attention_dropout, 0), \
    FIXED("output_router_logits", false), \
    FIXED("for_llm_compressor", false), \
    PAD_TOKEN, \
    DECODER_IGNORED, IGNORED("floor_scale"), IGNORED("attn_scale"), IGNORED("router_aux_loss_coef"), \
    IGNORED("router_jitter_noise"), IGNORED("cache_implementation")

static const ms_key keys[] = {TEXT_KEYS};

static const ms_key vision_keys[] = {
    COUNT("hidden_size", vision.hidden_size, 768, MAX_HIDDEN),
    COUNT("intermediate_size", vision.intermediate_size, 5632, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", vision.num_layers, 34, MAX_LAYERS),
    COUNT("num_attention_heads", vision.num_heads, 16, MAX_HEADS),
    COUNT("num_channels", vision.channels, 3, MAX_HEADS),
    COUNT("image_size", vision.image_size, 448, MAX_HIDDEN),
    COUNT("patch_size", vision.patch_size, 14, MAX_HEADS),
    COUNT("vision_output_dim", vision.out_size, 7680, MAX_HIDDEN),
    COUNT("projector_input_dim", vision.projector_in, 4096, MAX_HIDDEN),
    COUNT("projector_output_dim", vision.projector_out, 4096, MAX_HIDDEN),
    FIXED("multi_modal_projector_bias", false),
};
/* clang-format on */

/* ---- attention ---- */

/* Query and key before their heads are transposed. */
static void turn_both(ms_model *model, ms_tensor q, ms_tensor k, ms_tensor turns, ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *query = ms_argument(&f, q), *key = ms_argument(&f, k);
    ms_tensor *q_pairs = ms_local(&f, ms_as_complex(tape, *query));
    ms_tensor *k_pairs = ms_local(&f, ms_as_complex(tape, *key));
    ms_tensor factor = ms_unsqueeze(tape, turns, 2);
    ms_retain(tape, factor);
    ms_tensor *q_out = ms_local(&f, ms_turn_pairs(tape, *q_pairs, factor));
    ms_tensor *k_out = ms_local(&f, ms_turn_pairs(tape, *k_pairs, factor));
    ms_release(tape, factor);
    out[0] = out[1] = 0;
    if (!ms_idle(tape)) {
        ms_dtype dtype = (ms_dtype)ms_info(tape, *query)->dtype;
        out[0] = ms_to(tape, *q_out, dtype);
        ms_retain(tape, out[0]);
        out[1] = ms_to(tape, *k_out, dtype);
        ms_retain(tape, out[1]);
    }
    ms_locals_end(&f, NULL);
    ms_unown(tape, out[0]);
    ms_unown(tape, out[1]);
}

/* log1p(floor((positions + 1) / floor_scale)) * attn_scale + 1, times the query */
static void tune_temperature(ms_model *model, ms_locals *f, ms_tensor *query)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return;
    ms_dim one = {.value = 1};
    ms_dtype dtype = (ms_dtype)ms_info(tape, *query)->dtype;
    ms_tensor range = ms_empty(tape, MS_SHAPE(model->seq), MS_DTYPE_I64);
    ms_tensor *positions = ms_local(f, ms_add_scalar(tape, range));
    ms_tensor steps = ms_add_scalar(tape, ms_to(tape, *positions, MS_DTYPE_F32));
    steps = ms_log1p(tape, ms_floor(tape, ms_div_scalar(tape, steps)));
    ms_tensor *scales = ms_local(f, ms_add_scalar(tape, ms_mul_scalar(tape, steps)));
    ms_tensor wide = ms_view(tape, *scales, MS_SHAPE(one, model->seq, one, one));
    ms_assign(f, scales, ms_expand(tape, wide, MS_SHAPE(model->batch, model->seq, one, one)));
    ms_assign(f, query, ms_to(tape, ms_mul(tape, *query, *scales), dtype));
}

static ms_tensor split(ms_model *model, const ms_linear_module *linear, ms_tensor hidden,
                       ms_dim heads)
{
    return ms_view(model->tape, ms_linear_call(model, linear, hidden),
                   MS_SHAPE(model->batch, model->seq, heads, model->head_dim));
}

/* What is done to query and key, locals of `f`, [B, S, H, D]. */
static void turn_heads(ms_model *model, const ms_decoder *d, ms_locals *f, uint64_t layer,
                       ms_tensor *query, ms_tensor *key)
{
    ms_tensor turned[2];
    bool turns = !(ms_layer_kind(model->config, layer) & MS_LAYER_NO_ROTARY);
    if (turns) {
        turn_both(model, *query, *key, ms_decoder_rotary(model, d, layer)->cos, turned);
        ms_assign(f, query, turned[0]);
        ms_assign(f, key, turned[1]);
    }
    if (turns && model->config->head_norms) {
        ms_assign(f, query, ms_unit_norm_call(model, *query));
        ms_assign(f, key, ms_unit_norm_call(model, *key));
    }
    if (!turns && model->config->tunes_temperature)
        tune_temperature(model, f, query);
}

static void *build_attention(ms_model *model, const ms_decoder *d, uint32_t parent, uint32_t number)
{
    (void)number;
    ms_projections *p = ms_arena_array(model->arena, ms_projections, 1);
    if (p)
        *p = ms_projections_new(model, d, parent);
    return p;
}

static ms_tensor attention(ms_model *model, ms_decoder *d, const ms_decoder_layer *layer,
                           ms_tensor x, ms_tensor *weights)
{
    ms_tape *tape = model->tape;
    const ms_projections *p = layer->attention;
    ms_tensor mask = ms_decoder_mask(model, d, layer->number);
    uint32_t previous = ms_scope_enter(tape, p->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor *query = ms_local(&f, split(model, &p->q_proj, *hidden, model->heads));
    ms_tensor *key = ms_local(&f, split(model, &p->k_proj, *hidden, model->kv_heads));
    ms_tensor *value =
        ms_local(&f, ms_transpose(tape, split(model, &p->v_proj, *hidden, model->kv_heads), 1, 2));
    turn_heads(model, d, &f, layer->number, query, key);
    ms_assign(&f, query, ms_transpose(tape, *query, 1, 2));
    ms_assign(&f, key, ms_transpose(tape, *key, 1, 2));
    ms_cache_append(model, &f, layer->number, key, value);
    ms_tensor result = ms_attend_and_project(model, &f, layer, (ms_tensor[]){*query, *key, *value},
                                             mask, &p->o_proj, weights);
    tape->scope = previous;
    return result;
}

/* ---- layer ---- */

static ms_tensor run_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    ms_decoder *d = model->modules;
    const ms_decoder_layer *l = &d->layers[number];
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_tensor weights = 0;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor *residual = ms_local(&f, *hidden);
    ms_assign(&f, hidden, ms_norm_at(model, l, MS_NORM_BEFORE_ATTENTION, *hidden));
    ms_tensor *attended = ms_local(&f, attention(model, d, l, *hidden, &weights));
    ms_tensor *second = ms_local(&f, weights);
    ms_assign(&f, hidden, ms_add(tape, *residual, *attended));
    ms_assign(&f, residual, *hidden);
    ms_assign(&f, hidden, ms_norm_at(model, l, MS_NORM_BEFORE_MLP, *hidden));
    ms_assign(&f, hidden, ms_layer_mlp(model, l, *hidden));
    if (d->second_result) {
        ms_assign(&f, second, d->second_result);
        ms_release(tape, d->second_result);
        d->second_result = 0;
    }
    ms_shape shape = MS_SHAPE(model->batch, model->seq, model->hidden);
    ms_assign(&f, hidden, ms_add(tape, *residual, ms_view(tape, *hidden, shape)));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* ---- the family ---- */

static uint8_t layer_kind(const ms_model_config *config, uint64_t layer)
{
    return (layer + 1) % config->sparse_step == 0 ? MS_LAYER_SPARSE | MS_LAYER_SLIDES
                                                  : MS_LAYER_SLIDES;
}

static ms_decoder_style style_of(const ms_model *model)
{
    bool bias = model->config->attention_bias;
    return (ms_decoder_style){.run_layer = run_layer,
                              .build_attention = build_attention,
                              .attention = attention,
                              .rotary_tables = ms_complex_rotary_tables,
                              .build_mlp = ms_llama4_mlp_new,
                              .mlp = ms_llama4_mlp,
                              .norm = ms_rms_norm_weight_last_call,
                              .qkv_bias = bias,
                              .output_bias = bias,
                              .both_masks = true,
                              .position_ids_first = true,
                              .mask_arguments = true};
}

static bool build_text(ms_model *model, ms_decoder_style style)
{
    if (!ms_decoder_build(model, style))
        return false;
    model->softmax_in_fp32 = false;
    model->softmax_uncast = true;
    return true;
}

const ms_family ms_family_llama4_text = {.model_type = "llama4_text",
                                         .classes = {{"Llama4ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                         .check = ms_check_experts,
                                         .has_chunks = true,
                                         .grouped_experts_only = true,
                                         .batched_experts_only = true,
                                         .has_linear_router = true,
                                         .takes_cache = true,
                                         .unpredicted = MS_UNPREDICTED_PADDING,
                                         .text_name = "llama4_text"};

/* ---- with a vision tower ---- */

static bool build_towers(ms_model *model, uint32_t scope)
{
    (void)scope;
    ms_llama4_vision_new(model);
    return true;
}

static bool build_whole(ms_model *model)
{
    ms_decoder_style style = style_of(model);
    style.root_name = "language_model";
    style.text_name = "model";
    style.build_towers = build_towers;
    return build_text(model, style);
}

/* The text model hands out logits alone; the loss is the whole model's. */
static ms_tensor logits_of(ms_model *model, const ms_model_inputs *in, ms_tensor embeds,
                           ms_model_outputs *out)
{
    ms_decoder *d = model->modules;
    ms_model_inputs without_labels = *in;
    without_labels.labels = 0;
    ms_locals f = ms_locals_begin(model->tape);
    ms_tensor *hidden = ms_local(&f, ms_decoder_run(model, d, embeds));
    ms_head_call(model, &f, &d->head, *hidden, &without_labels, out);
    ms_locals_end(&f, NULL);
    return out->logits;
}

static void forward_whole(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    ms_tape *tape = model->tape;
    ms_decoder *d = model->modules;
    if (in->labels && model->run->treatments.loss_chunks > 1) { /* calls the text model itself */
        ms_decoder_forward(model, in, out);
        return;
    }
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *embeds = ms_local(&f, ms_decoder_embed(model, d, in->ids));
    ms_tensor logits = logits_of(model, in, *embeds, out);
    ms_tensor *loss = ms_local(&f, in->labels ? ms_causal_lm_loss(model, logits, in) : 0);
    if (in->labels && !in->keeps_logits) {
        ms_release(tape, out->logits);
        out->logits = 0;
    }
    ms_forward_end(&f, loss, out);
}

static const ms_key_table more[] = {
    {"vision_config", "llama4_vision_model", vision_keys, sizeof vision_keys / sizeof *vision_keys},
};

static const ms_model_program whole_program = {build_whole, forward_whole};

static const ms_family_facts llama4_facts = {
    .peft = {.lora = {"q_proj", "v_proj"},
             .ia3 = {"q_proj", "v_proj", "down_proj"},
             .ia3_inputs = {"down_proj"}},
};

const ms_family ms_family_llama4 = {
    .model_type = "llama4",
    .facts = &llama4_facts,
    .classes = {{"Llama4ForConditionalGeneration", MS_HEAD_CAUSAL_LM}},
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .object = "text_config",
    .object_type = "llama4_text",
    .more = more,
    .more_count = sizeof more / sizeof *more,
    .check = ms_check_experts,
    .layer_kind = layer_kind,
    .has_chunks = true,
    .grouped_experts_only = true,
    .batched_experts_only = true,
    .has_linear_router = true,
    .takes_cache = true,
    .unpredicted = MS_UNPREDICTED_PADDING,
    .program = &whole_program};
