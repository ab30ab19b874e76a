/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/evaluator/resolve.h"

#include <string.h>

#include "input/config/model/model_keys.h"
#include "model/family/family_keys.h"
#include "base/text/nearest.h"

/* ---- names that memscope knows; other keys are the text's own ---- */

typedef enum member_type {
    OF_COUNTS,
    OF_TRUTHS,
    OF_FRACTIONS,
    OF_ACTIVATIONS,
    OF_INTEGERS
} member_type;

#define KNOWN(name, member, type, most, dim)                                                       \
    {                                                                                              \
        name, MEMBER(member), type, most, dim, NULL                                                \
    }
#define NAMED(name, member, most, symbol)                                                          \
    {                                                                                              \
        name, MEMBER(member), OF_COUNTS, most, MS_FAMILY_DIM_NAMED, symbol                         \
    }
#define PLAIN MS_FAMILY_DIM_OWN
/* The same where it may be 0. */
#define LETTER(name, member, most, symbol)                                                         \
    {                                                                                              \
        name, MEMBER(member), OF_COUNTS, most, PLAIN, symbol                                       \
    }

typedef struct known_name {
    const char *name;
    size_t offset;
    member_type type;
    uint64_t most;
    ms_family_dim dim;
    const char *symbol;
} known_name;

static const known_name known[] = {
    KNOWN("vocab_size", vocab_size, OF_COUNTS, MAX_VOCAB, MS_FAMILY_DIM_VOCAB),
    KNOWN("hidden_size", hidden_size, OF_COUNTS, MAX_HIDDEN, MS_FAMILY_DIM_HIDDEN),
    KNOWN("intermediate_size", intermediate_size, OF_COUNTS, MAX_INTERMEDIATE,
          MS_FAMILY_DIM_INTERMEDIATE),
    LETTER("num_hidden_layers", num_layers, MAX_LAYERS, "L"),
    KNOWN("num_encoder_layers", encoder_layers, OF_COUNTS, MAX_LAYERS / 2, PLAIN),
    KNOWN("num_decoder_layers", decoder_layers, OF_COUNTS, MAX_LAYERS / 2, PLAIN),
    NAMED("num_mel_bins", mel_bins, MAX_HIDDEN, "M"),
    NAMED("encoder_ffn_dim", encoder_intermediate, MAX_INTERMEDIATE, "Ie"),
    KNOWN("max_source_positions", source_positions, OF_COUNTS, MAX_POSITIONS / 2,
          MS_FAMILY_DIM_SOURCE),
    KNOWN("num_channels", num_channels, OF_COUNTS, 1 << 12, MS_FAMILY_DIM_NUMBER),
    KNOWN("image_height", image_sides[0], OF_COUNTS, 1 << 14, MS_FAMILY_DIM_NUMBER),
    KNOWN("patch_height", patch_sides[0], OF_COUNTS, 1 << 14, MS_FAMILY_DIM_NUMBER),
    NAMED("relative_attention_num_buckets", bias_buckets, MAX_POSITIONS, "N"),
    KNOWN("num_attention_heads", num_heads, OF_COUNTS, MAX_HEADS, MS_FAMILY_DIM_HEADS),
    KNOWN("num_key_value_heads", num_kv_heads, OF_COUNTS, MAX_HEADS, MS_FAMILY_DIM_KV_HEADS),
    KNOWN("head_dim", head_dim, OF_COUNTS, MAX_HEAD_DIM, MS_FAMILY_DIM_HEAD),
    KNOWN("qk_rope_head_dim", head_dim, OF_COUNTS, MAX_HEAD_DIM, MS_FAMILY_DIM_HEAD),
    KNOWN("qk_nope_head_dim", plain_key_dim, OF_COUNTS, MAX_HEAD_DIM, MS_FAMILY_DIM_PLAIN_KEY),
    KNOWN("v_head_dim", value_dim, OF_COUNTS, MAX_HEAD_DIM, MS_FAMILY_DIM_VALUE),
    KNOWN("q_lora_rank", query_rank, OF_COUNTS, MAX_HIDDEN, MS_FAMILY_DIM_QUERY_RANK),
    KNOWN("kv_lora_rank", latent_rank, OF_COUNTS, MAX_HIDDEN, MS_FAMILY_DIM_LATENT),
    KNOWN("index_n_heads", index_heads, OF_COUNTS, MAX_HEADS, MS_FAMILY_DIM_INDEX_HEADS),
    KNOWN("index_head_dim", index_dim, OF_COUNTS, MAX_HEAD_DIM, MS_FAMILY_DIM_INDEX),
    KNOWN("index_topk", index_tokens, OF_COUNTS, MAX_POSITIONS, MS_FAMILY_DIM_NUMBER),
    KNOWN("max_position_embeddings", max_positions, OF_COUNTS, MAX_POSITIONS,
          MS_FAMILY_DIM_POSITIONS),
    KNOWN("word_embed_proj_dim", embedding_width, OF_COUNTS, MAX_HIDDEN, MS_FAMILY_DIM_EMBEDDING),
    KNOWN("num_ln_in_parallel_attn", parallel_norms, OF_COUNTS, 2, PLAIN),
    KNOWN("local_attention", local_attention, OF_COUNTS, MAX_POSITIONS, PLAIN),
    KNOWN("sliding_window", sliding_window, OF_COUNTS, MAX_POSITIONS, PLAIN),
    KNOWN("sliding_window_pattern", sliding_pattern, OF_COUNTS, MAX_LAYERS, PLAIN),
    KNOWN("max_window_layers", max_window_layers, OF_COUNTS, MAX_POSITIONS, PLAIN),
    KNOWN("no_rope_layer_interval", no_rotary_interval, OF_COUNTS, MAX_LAYERS, PLAIN),
    KNOWN("num_experts", num_experts, OF_COUNTS, MAX_EXPERTS, MS_FAMILY_DIM_EXPERTS),
    KNOWN("num_experts_per_tok", experts_per_token, OF_COUNTS, MAX_EXPERTS, MS_FAMILY_DIM_CHOSEN),
    KNOWN("moe_intermediate_size", expert_size, OF_COUNTS, MAX_INTERMEDIATE, MS_FAMILY_DIM_EXPERT),
    KNOWN("shared_expert_intermediate_size", shared_expert_size, OF_COUNTS, MAX_INTERMEDIATE,
          MS_FAMILY_DIM_SHARED),
    KNOWN("decoder_sparse_step", sparse_step, OF_COUNTS, MAX_LAYERS, PLAIN),
    KNOWN("n_shared_experts", shared_experts, OF_COUNTS, MAX_EXPERTS, MS_FAMILY_DIM_NUMBER),
    KNOWN("first_k_dense_replace", first_sparse_layer, OF_COUNTS, MAX_LAYERS, PLAIN),
    KNOWN("n_group", expert_groups, OF_COUNTS, MAX_EXPERTS, MS_FAMILY_DIM_NUMBER),
    KNOWN("topk_group", chosen_groups, OF_COUNTS, MAX_EXPERTS, MS_FAMILY_DIM_NUMBER),
    KNOWN("limits_groups", limits_groups, OF_TRUTHS, 1, PLAIN),
    KNOWN("num_nextn_predict_layers", prediction_layers, OF_COUNTS, MAX_LAYERS, PLAIN),
    KNOWN("embedding_size", embedding_width, OF_COUNTS, MAX_HIDDEN, MS_FAMILY_DIM_TABLE),
    KNOWN("type_vocab_size", sentence_types, OF_COUNTS, MAX_VOCAB, MS_FAMILY_DIM_TYPES),
    KNOWN("rotary_dim", rotary_width, OF_COUNTS, MAX_HEAD_DIM, MS_FAMILY_DIM_ROTARY),
    KNOWN("linear_num_key_heads", linear_key_heads, OF_COUNTS, MAX_HEADS, PLAIN),
    KNOWN("linear_num_value_heads", linear_value_heads, OF_COUNTS, MAX_HEADS, PLAIN),
    KNOWN("state_size", state_size, OF_COUNTS, 1 << 14, PLAIN),
    KNOWN("scan_heads", scan_heads, OF_COUNTS, MAX_HEADS, PLAIN),
    KNOWN("scan_head_dim", scan_head_dim, OF_COUNTS, MAX_HEAD_DIM, PLAIN),
    KNOWN("n_groups", state_groups, OF_COUNTS, MAX_HEADS, PLAIN),
    KNOWN("expand", expansion, OF_COUNTS, MAX_HEADS, PLAIN),
    KNOWN("residual_in_fp32", residual_in_fp32, OF_TRUTHS, 1, PLAIN),
    KNOWN("conv_kernel", convolution_width, OF_COUNTS, MAX_HEAD_DIM, MS_FAMILY_DIM_NUMBER),
    KNOWN("feed_forward_size", mlp_width, OF_COUNTS, MAX_INTERMEDIATE, PLAIN),
    KNOWN("pad_token_id", pad_token_id, OF_COUNTS, MAX_VOCAB, PLAIN),
    KNOWN("num_kv_shared_layers", sharing_layers, OF_COUNTS, MAX_LAYERS, PLAIN),
    LETTER("global_head_dim", wide_head_dim, MAX_HEAD_DIM, "Dw"),
    LETTER("num_global_key_value_heads", wide_kv_heads, MAX_HEADS, "Hw"),
    KNOWN("attention_k_eq_v", keys_are_values, OF_TRUTHS, 1, PLAIN),
    KNOWN("enable_moe_block", has_experts, OF_TRUTHS, 1, PLAIN),
    KNOWN("use_bidirectional_attention", sees_all, OF_TRUTHS, 1, PLAIN),
    LETTER("hidden_size_per_layer_input", layer_input_size, MAX_HEAD_DIM, "P"),
    LETTER("vocab_size_per_layer_input", layer_input_rows, MAX_VOCAB, "Vl"),
    LETTER("laurel_rank", laurel_rank, MAX_HIDDEN, "R"),
    LETTER("altup_num_inputs", altup_streams, 6, "N"),
    KNOWN("altup_correct_scale", scales_corrected, OF_TRUTHS, 1, PLAIN),
    KNOWN("altup_active_idx", active_stream, OF_COUNTS, 6, MS_FAMILY_DIM_NUMBER),
    KNOWN("altup_coef_clip", clips_coefficients, OF_TRUTHS, 1, PLAIN),
    KNOWN("tie_word_embeddings", tie_word_embeddings, OF_TRUTHS, 1, PLAIN),
    KNOWN("is_encoder_decoder", is_encoder_decoder, OF_TRUTHS, 1, PLAIN),
    KNOWN("gates_mlp", gates_mlp, OF_TRUTHS, 1, PLAIN),
    KNOWN("attention_bias", attention_bias, OF_TRUTHS, 1, PLAIN),
    KNOWN("attention_out_bias", output_bias, OF_TRUTHS, 1, PLAIN),
    KNOWN("mlp_bias", mlp_bias, OF_TRUTHS, 1, PLAIN),
    KNOWN("use_sliding_window", use_sliding_window, OF_TRUTHS, 1, PLAIN),
    KNOWN("qk_layernorm", head_norms, OF_TRUTHS, 1, PLAIN),
    KNOWN("norm_topk_prob", normalises_experts, OF_TRUTHS, 1, PLAIN),
    KNOWN("output_router_logits", outputs_router_logits, OF_TRUTHS, 1, PLAIN),
    KNOWN("clip_qkv", clips_projections, OF_TRUTHS, 1, PLAIN),
    KNOWN("scale_attn_weights", scale_attn_weights, OF_TRUTHS, 1, PLAIN),
    KNOWN("attn_logit_softcapping", caps_scores, OF_TRUTHS, 1, PLAIN),
    KNOWN("final_logit_softcapping", caps_logits, OF_TRUTHS, 1, PLAIN),
    KNOWN("use_parallel_residual", parallel_residual, OF_TRUTHS, 1, PLAIN),
    KNOWN("classifier_dropout", classifier_dropout, OF_FRACTIONS, 1, PLAIN),
    KNOWN("layerdrop", layer_drop, OF_FRACTIONS, 1, PLAIN),
    KNOWN("new_decoder_architecture", groups_kv, OF_TRUTHS, 1, PLAIN),
    KNOWN("multi_query", shares_kv, OF_TRUTHS, 1, PLAIN),
    KNOWN("parallel_attn", is_parallel, OF_TRUTHS, 1, PLAIN),
    KNOWN("alibi", alibi, OF_TRUTHS, 1, PLAIN),
    KNOWN("turns_heads", turns_heads, OF_TRUTHS, 1, PLAIN),
    KNOWN("attention_dropout", attention_dropout, OF_FRACTIONS, 1, PLAIN),
    KNOWN("residual_dropout", residual_dropout, OF_FRACTIONS, 1, PLAIN),
    KNOWN("embedding_dropout", embedding_dropout, OF_FRACTIONS, 1, PLAIN),
    KNOWN("partial_rotary_factor", rotary_share, OF_FRACTIONS, 1, PLAIN),
    KNOWN("mixing_dropout", mixing_dropout, OF_FRACTIONS, 1, PLAIN),
    KNOWN("broadcasts_kv", broadcasts_kv, OF_TRUTHS, 1, PLAIN),
    KNOWN("skipped_positions", skipped_positions, OF_COUNTS, MAX_VOCAB, PLAIN),
    KNOWN("router_jitter_noise", router_jitter, OF_FRACTIONS, 1, PLAIN),
    KNOWN("classifier_activation", head_activation, OF_ACTIVATIONS, 1, PLAIN),
    KNOWN("hidden_act", activation, OF_ACTIVATIONS, 1, PLAIN),
    KNOWN("image_token_id", image_token_id, OF_COUNTS, MAX_VOCAB, PLAIN),
    KNOWN("mm_tokens_per_image", vision.tokens, OF_COUNTS, MAX_POSITIONS, MS_FAMILY_DIM_NUMBER),
    KNOWN("projector_hidden_act", vision.projector_activation, OF_ACTIVATIONS, 1, PLAIN),
    KNOWN("keeps_class_token", vision.keeps_class, OF_TRUTHS, 1, PLAIN),
    KNOWN("vision_feature_layer", vision.feature_layer, OF_INTEGERS, MAX_LAYERS, PLAIN),
    KNOWN("multimodal_projector_bias", vision.projector_bias, OF_TRUTHS, 1, PLAIN),
};

/* Of class vision_config. */
#define SEEN(name, member, most) KNOWN(name, vision.member, OF_COUNTS, most, MS_FAMILY_DIM_NUMBER)
static const known_name seen[] = {
    NAMED("hidden_size", vision.hidden_size, MAX_HIDDEN, "Hv"),
    NAMED("intermediate_size", vision.intermediate_size, MAX_INTERMEDIATE, "Iv"),
    NAMED("out_hidden_size", vision.out_size, MAX_HIDDEN, "Ov"),
    SEEN("vision_output_dim", out_size, MAX_HIDDEN),
    SEEN("projector_input_dim", projector_in, MAX_HIDDEN),
    SEEN("projector_output_dim", projector_out, MAX_HIDDEN),
    SEEN("mlp_ratio", mlp_ratio, 64),
    SEEN("num_position_embeddings", positions, MAX_POSITIONS),
    SEEN("spatial_merge_size", merge_size, 64),
    SEEN("temporal_patch_size", frames, MAX_HEADS),
    SEEN("window_size", window_size, MAX_POSITIONS),
    KNOWN("marked_blocks", vision.marked_blocks, OF_COUNTS, MS_MOST_BLOCKS - 1, PLAIN),
    SEEN("num_hidden_layers", num_layers, MAX_LAYERS),
    SEEN("num_attention_heads", num_heads, MAX_HEADS),
    SEEN("num_channels", channels, MAX_HEADS),
    SEEN("image_size", image_size, MAX_HIDDEN),
    KNOWN("vision_use_head", vision.has_head, OF_TRUTHS, 1, PLAIN),
    SEEN("patch_size", patch_size, MAX_HEADS),
    KNOWN("hidden_act", vision.activation, OF_ACTIVATIONS, 1, PLAIN),
    KNOWN("attention_dropout", vision.dropout, OF_FRACTIONS, 1, PLAIN),
    SEEN("num_key_value_heads", num_kv_heads, MAX_HEADS),
    NAMED("head_dim", vision.head_dim, MAX_HEAD_DIM, "Dv"),
    SEEN("pooling_kernel_size", pool_size, 64),
    SEEN("position_embedding_size", positions, MAX_POSITIONS),
    KNOWN("use_clipped_linears", vision.has_bounds, OF_TRUTHS, 1, PLAIN),
    KNOWN("standardize", vision.standardizes, OF_TRUTHS, 1, PLAIN),
};

/* Of class audio_config. */
#define HEARD(name, member, most) KNOWN(name, audio.member, OF_COUNTS, most, MS_FAMILY_DIM_NUMBER)
static const known_name heard[] = {
    NAMED("hidden_size", audio.hidden_size, MAX_HIDDEN, "Ha"),
    HEARD("num_hidden_layers", num_layers, MAX_LAYERS),
    HEARD("num_attention_heads", num_heads, MAX_HEADS),
    HEARD("conv_kernel_size", kernel_size, MAX_HEADS),
    HEARD("first_channels", channels[0], MAX_HEADS),
    HEARD("output_proj_dims", out_size, MAX_HIDDEN),
    KNOWN("use_clipped_linears", audio.has_bounds, OF_TRUTHS, 1, PLAIN),
};

/* ---- kinds of keys, as the text calls them ---- */

static const struct {
    const char *name;
    ms_key_kind kind;
    member_type type;
    bool has_member, has_default;
} kinds[] = {
    {"count", MS_KEY_COUNT, OF_COUNTS, true, true},
    {"sides", MS_KEY_SIDES, OF_COUNTS, true, true},
    {"numbers", MS_KEY_NUMBERS, OF_COUNTS, true, false},
    {"integer", MS_KEY_INTEGER, OF_INTEGERS, true, true},
    {"flag", MS_KEY_BOOL, OF_TRUTHS, true, true},
    {"fraction", MS_KEY_FRACTION, OF_FRACTIONS, true, true},
    {"activation", MS_KEY_ACTIVATION, OF_ACTIVATIONS, true, true},
    {"is_set", MS_KEY_IS_SET, OF_TRUTHS, true, true},
    {"choice", MS_KEY_CHOICE, OF_TRUTHS, true, true},
    {"only", MS_KEY_FIXED_BOOL, OF_TRUTHS, false, true},
    {"layer_types", MS_KEY_LAYER_TYPES, OF_COUNTS, false, false},
    {"layer_pattern", MS_KEY_LAYER_PATTERN, OF_COUNTS, false, true},
    {"attention_layers", MS_KEY_ATTENTION_LAYERS, OF_COUNTS, false, false},
    {"dense_layers", MS_KEY_DENSE_LAYERS, OF_COUNTS, false, false},
    {"rotary_layers", MS_KEY_ROTARY_LAYERS, OF_COUNTS, false, false},
    {"sparse_layers", MS_KEY_SPARSE_LAYERS, OF_COUNTS, false, false},
    {"mlp_types", MS_KEY_MLP_TYPES, OF_COUNTS, false, false},
    {"sparse_gates", MS_KEY_SPARSE_GATES, OF_COUNTS, false, false},
    {"rope", MS_KEY_ROPE, OF_COUNTS, false, false},
    {"ignored", MS_KEY_IGNORED, OF_COUNTS, false, false},
};

enum {
    KNOWN_COUNT = sizeof known / sizeof *known,
    SEEN_COUNT = sizeof seen / sizeof *seen,
    HEARD_COUNT = sizeof heard / sizeof *heard,
    KIND_COUNT = sizeof kinds / sizeof *kinds
};

/* Whether an object of the config has that name. */
static bool is_object(const ms_family_text *text, uint32_t object, const char *wanted)
{
    const char *name = object < MS_FAMILY_OBJECTS ? text->objects[object].name : NULL;
    return name && strcmp(name, wanted) == 0;
}

/* Names of members that memscope knows, of the keys of an object. */
static const known_name *known_names(const ms_family_text *text, uint32_t object, size_t *count)
{
    const bool is_seen = is_object(text, object, "vision_config");
    const bool is_heard = is_object(text, object, "audio_config");
    *count = is_seen ? SEEN_COUNT : is_heard ? HEARD_COUNT : KNOWN_COUNT;
    return is_seen ? seen : is_heard ? heard : known;
}

const ms_family_key *ms_family_key_find(const ms_family_text *text, const char *name)
{
    for (uint32_t i = 0; i < text->key_count; i++)
        if (strcmp(text->keys[i].name, name) == 0 && text->keys[i].object < MS_OBJECT_OTHER)
            return &text->keys[i];
    for (uint32_t i = 0; i < text->derived_count; i++)
        if (strcmp(text->derived[i].name, name) == 0)
            return &text->derived[i];
    for (uint32_t i = 0; i < text->key_count; i++)
        if (strcmp(text->keys[i].name, name) == 0)
            return &text->keys[i];
    return NULL;
}

const ms_family_key *ms_family_key_of(const ms_family_text *text, uint32_t object, const char *name)
{
    for (uint32_t i = 0; i < text->key_count; i++)
        if (strcmp(text->keys[i].name, name) == 0 && text->keys[i].object == object)
            return &text->keys[i];
    static const ms_family_key inner = {.name = "intermediate_size",
                                        .row = {.name = "hidden_size",
                                                .kind = MS_KEY_COUNT,
                                                .offset = MEMBER(vision.intermediate_size)},
                                        .dim = MS_FAMILY_DIM_NAMED,
                                        .symbol = "Iv",
                                        .object = MS_OBJECT_OTHER};
    return is_object(text, object, "vision_config") && strcmp(name, inner.name) == 0 ? &inner
                                                                                     : NULL;
}

const ms_family_key *ms_family_key_always(const char *name)
{
    static const ms_family_key always[] = {
        {.name = "head_dim", /* hidden_size // num_attention_heads */
         .row = {.name = "hidden_size", .kind = MS_KEY_COUNT, .offset = MEMBER(head_dim)},
         .dim = MS_FAMILY_DIM_HEAD},
        {.name = "intermediate_size",
         .row = {.name = "hidden_size", .kind = MS_KEY_COUNT, .offset = MEMBER(intermediate_size)},
         .dim = MS_FAMILY_DIM_INTERMEDIATE},
        {.name = "image_tokens",
         .row = {.name = "image_size", .kind = MS_KEY_COUNT, .offset = MEMBER(image_tokens)},
         .dim = MS_FAMILY_DIM_TOKENS},
        {.name = "layers_before_features", /* of a tower */
         .row = {.name = "vision_feature_layer",
                 .kind = MS_KEY_COUNT,
                 .offset = MEMBER(vision.feature_layers)},
         .dim = MS_FAMILY_DIM_NUMBER},
        {.name = "num_labels",
         .row = {.name = "num_labels", .kind = MS_KEY_COUNT, .offset = MEMBER(num_labels)},
         .dim = MS_FAMILY_DIM_LABELS},
    };
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (strcmp(name, always[i].name) == 0)
            return &always[i];
    return NULL;
}

bool ms_family_key_settable(ms_resolver *r, ms_text_node *target)
{
    static const ms_key_kind kinds_of[] = {
        [OF_COUNTS] = MS_KEY_COUNT, [OF_TRUTHS] = MS_KEY_BOOL, [OF_FRACTIONS] = MS_KEY_FRACTION};
    ms_family_text *text = r->text;
    target->key = ms_family_key_find(text, target->text);
    for (size_t i = 0; !target->key && i < KNOWN_COUNT; i++) {
        if (known[i].type == OF_ACTIVATIONS || strcmp(known[i].name, target->text) != 0)
            continue;
        if (text->derived_count < MS_FAMILY_DERIVED) {
            text->derived[text->derived_count] =
                (ms_family_key){.name = known[i].name,
                                .row = {.name = known[i].name,
                                        .kind = kinds_of[known[i].type],
                                        .offset = known[i].offset},
                                .dim = known[i].dim};
            target->key = &text->derived[text->derived_count++];
        }
    }
    if (target->key && target->key->row.kind <= MS_KEY_FRACTION &&
        target->key->row.kind != MS_KEY_INTEGER)
        return true;
    ms_family_fail(r->reading, target,
                   "derive() sets keys of the text, or members that memscope knows");
    return false;
}

/* ---- defaults ---- */

static bool is_name_of(const ms_text_node *node, const char *name)
{
    return node->kind == MS_NODE_NAME && strcmp(node->text, name) == 0;
}

static bool is_number(const ms_text_node *node, double value)
{
    return node->kind == MS_NODE_NUMBER && !(node->number < value || node->number > value);
}

/* What a count is when it is absent, or null. */
static bool read_count(ms_resolver *r, const ms_text_node *node, ms_key *row, ms_default_kind *kind,
                       double *value)
{
    *kind = MS_DEFAULT_VALUE;
    *value = node->number;
    if (node->kind == MS_NODE_NUMBER)
        return true;
    if (node->kind == MS_NODE_NONE) {
        *value = -1; /* as no number */
        return true;
    }
    if (node->kind == MS_NODE_DIVIDE_WHOLE && is_name_of(node->items[0], "hidden_size") &&
        is_name_of(node->items[1], "num_attention_heads")) {
        *kind = MS_DEFAULT_HEAD_DIM;
        return true;
    }
    if (node->kind == MS_NODE_MULTIPLY && is_number(node->items[0], 4) &&
        is_name_of(node->items[1], "hidden_size")) {
        *kind = MS_DEFAULT_FOUR_HIDDEN;
        return true;
    }
    const ms_family_key *other =
        node->kind == MS_NODE_NAME ? ms_family_key_of(r->text, r->object, node->text) : NULL;
    if (other && other->row.kind <= MS_KEY_OPTIONAL) {
        *kind = MS_DEFAULT_SAME_AS;
        row->default_offset = other->row.offset;
        return true;
    }
    ms_family_fail(r->reading, node,
                   "a number, None, a count above, hidden_size // num_attention_heads or "
                   "4 * hidden_size is wanted here");
    return false;
}

static bool read_activation(ms_resolver *r, const ms_text_node *node, ms_key *row)
{
    for (int i = 0; node->kind == MS_NODE_STRING && i < MS_ACTIVATION_COUNT; i++)
        if (strcmp(ms_activation_name((ms_activation)i), node->text) == 0) {
            row->default_value = i;
            return true;
        }
    ms_family_fail(r->reading, node, "this activation is not known");
    return false;
}

/* A number, or a fraction above. */
static bool read_fraction(ms_resolver *r, const ms_text_node *node, ms_key *row)
{
    const ms_family_key *other =
        node->kind == MS_NODE_NAME ? ms_family_key_of(r->text, r->object, node->text) : NULL;
    row->default_value = node->number;
    if (node->kind == MS_NODE_NUMBER && node->number <= 1)
        return true;
    if (other && other->row.kind == MS_KEY_FRACTION) {
        row->default_kind = MS_DEFAULT_SAME_AS;
        row->default_offset = other->row.offset;
        return true;
    }
    ms_family_fail(r->reading, node, "a number from 0 to 1, or a fraction above, is wanted here");
    return false;
}

static bool is_negative(const ms_text_node *node)
{
    return node->kind == MS_NODE_NEGATIVE && node->items[0]->kind == MS_NODE_NUMBER;
}

static bool read_default(ms_resolver *r, const ms_text_node *node, ms_key *row)
{
    switch ((int)row->kind) {
    case MS_KEY_COUNT:
        row->may_be_minus_one = node->kind == MS_NODE_NEGATIVE && is_number(node->items[0], 1);
        row->default_value = -1; /* no bound */
        return row->may_be_minus_one ||
               read_count(r, node, row, &row->default_kind, &row->default_value);
    case MS_KEY_INTEGER:
        row->default_value = is_negative(node) ? -node->items[0]->number : node->number;
        if (node->kind == MS_NODE_NUMBER || is_negative(node))
            return true;
        ms_family_fail(r->reading, node, "a whole number is wanted here");
        return false;
    case MS_KEY_SIDES:
        row->default_value = node->number;
        if (node->kind == MS_NODE_NUMBER)
            return true;
        ms_family_fail(r->reading, node, "a number of pixels is wanted here");
        return false;
    case MS_KEY_ACTIVATION:
        return read_activation(r, node, row);
    case MS_KEY_FRACTION:
        return read_fraction(r, node, row);
    case MS_KEY_LAYER_PATTERN:
        row->default_value = node->number;
        if (node->kind == MS_NODE_NUMBER && node->number >= 1 && node->number <= MAX_LAYERS)
            return true;
        ms_family_fail(r->reading, node, "a number of layers is wanted here");
        return false;
    default:
        row->default_value = node->number;
        if (node->kind == MS_NODE_TRUTH)
            return true;
        ms_family_fail(r->reading, node, "True or False is wanted here");
        return false;
    }
}

/* ---- arguments ---- */

static bool read_null(ms_resolver *r, const ms_text_node *node, ms_key *row)
{
    double value = 0;
    const size_t other = row->default_offset;
    if (row->kind == MS_KEY_FRACTION && row->default_kind == MS_DEFAULT_SAME_AS) {
        row->null_kind = MS_DEFAULT_SAME_AS;
        if (read_fraction(r, node, row) && row->default_offset == other)
            return true;
        ms_family_fail(r->reading, node, "absent and null are the same fraction above");
        return false;
    }
    if (row->kind != MS_KEY_COUNT && row->kind != MS_KEY_OPTIONAL) {
        ms_family_fail(r->reading, node, "only a count may be null");
        return false;
    }
    row->kind = MS_KEY_OPTIONAL;
    if (!read_count(r, node, row, &row->null_kind, &value))
        return false;
    if (row->default_kind == MS_DEFAULT_SAME_AS && row->null_kind == MS_DEFAULT_SAME_AS &&
        row->default_offset != other) {
        ms_family_fail(r->reading, node, "absent and null are the same key, or numbers");
        return false;
    }
    row->null_value = value < 0 ? UINT64_MAX : (uint64_t)value;
    return true;
}

static bool read_keyword(ms_resolver *r, const ms_text_node *node, ms_key *row)
{
    const uint64_t most = row->maximum;
    if (strcmp(node->keyword, "null") == 0)
        return read_null(r, node, row);
    const bool is_count = node->kind == MS_NODE_NUMBER && node->number >= 0;
    if (strcmp(node->keyword, "least") == 0 && is_count) {
        row->minimum = (uint64_t)node->number;
        return true;
    }
    if (strcmp(node->keyword, "most") == 0 && is_count && node->number >= 1 &&
        node->number <= (double)most) {
        row->maximum = (uint64_t)node->number;
        return true;
    }
    if (strcmp(node->keyword, "symbol") == 0 && node->kind == MS_NODE_STRING)
        return true; /* ms_family_key_read() takes it */
    if (strcmp(node->keyword, "mixer") == 0 && node->kind == MS_NODE_STRING &&
        row->kind == MS_KEY_LAYER_TYPES) {
        row->choices[0] = node->text;
        return true;
    }
    if (strcmp(node->keyword, "window") == 0 && row->kind == MS_KEY_LAYER_TYPES &&
        node->kind == MS_NODE_STRING) {
        row->choices[1] = node->text; /* the type of layers with one */
        return true;
    }
    bool *truth = strcmp(node->keyword, "learned") == 0    ? &row->learned
                  : strcmp(node->keyword, "empty") == 0    ? &row->may_be_empty
                  : strcmp(node->keyword, "required") == 0 ? &row->required
                  : strcmp(node->keyword, "text") == 0     ? &row->may_be_text
                  : strcmp(node->keyword, "listed") == 0   ? &row->may_be_list
                                                           : NULL;
    if (truth && node->kind == MS_NODE_TRUTH) {
        *truth = node->number > 0;
        return true;
    }
    ms_family_fail(r->reading, node,
                   "a key has null=, least=, most= (no more than %llu here), learned=True, "
                   "required=True, text=True, listed=True and symbol=, layer_types() has mixer=",
                   (unsigned long long)most);
    return false;
}

/* "n_embd", "hidden_size": the key in the file, and other spellings of it. */
static bool read_spelling(ms_resolver *r, const ms_text_node *node, ms_key *row, uint32_t *count)
{
    if (node->kind != MS_NODE_STRING || !node->text[0] || *count > 3) {
        ms_family_fail(r->reading, node, "a spelling in the file is wanted here, up to four");
        return false;
    }
    if (*count == 0)
        row->name = node->text;
    else
        row->aliases[*count - 1] = node->text;
    ++*count;
    return true;
}

static bool read_arguments(ms_resolver *r, const ms_text_node *call, bool has_default, ms_key *row)
{
    uint32_t spellings = 0;
    /* Spellings stand before required=True, as Python has it: then there is no default. */
    const bool starts_with_default =
        call->count > 1 && !call->items[1]->keyword &&
        (row->kind != MS_KEY_COUNT || call->items[1]->kind != MS_NODE_STRING);
    bool is_required = false;
    for (uint32_t i = 1; i < call->count && !starts_with_default; i++)
        is_required |= call->items[i]->keyword && !strcmp(call->items[i]->keyword, "required");
    has_default = has_default && !is_required;
    if (has_default && (call->count < 2 || call->items[1]->keyword)) {
        ms_family_fail(r->reading, call, "what the key is when it is absent is missing here");
        return false;
    }
    for (uint32_t i = 1; i < call->count; i++) {
        const ms_text_node *item = call->items[i];
        const bool is_read = i == 1 && has_default ? read_default(r, item, row)
                             : item->keyword       ? read_keyword(r, item, row)
                                                   : read_spelling(r, item, row, &spellings);
        if (!is_read)
            return false;
    }
    return true;
}

/* ---- rows ---- */

/* Where the value goes: a member of that name, or one of the text's own. */
static bool find_member(ms_resolver *r, const ms_text_node *name, member_type type,
                        ms_family_key *key)
{
    size_t count;
    const known_name *names = known_names(r->text, r->object, &count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i].name, name->text) != 0)
            continue;
        key->row.offset = names[i].offset;
        key->row.maximum = names[i].most;
        key->dim = names[i].dim;
        if (!key->symbol)
            key->symbol = names[i].symbol;
        if (names[i].type == type)
            return true;
        ms_family_fail(r->reading, name, "memscope knows '%s' as another kind of key", name->text);
        return false;
    }
    const ms_family_key *same = ms_family_key_of(r->text, r->object, name->text);
    if (!same && r->text->own_keys == MS_OWN_KEYS) {
        ms_family_fail(r->reading, name, "no more than %d keys of a text's own", MS_OWN_KEYS);
        return false;
    }
    key->row.offset =
        same ? same->row.offset : MEMBER(own) + sizeof(uint64_t) * r->text->own_keys++;
    key->row.maximum = MAX_HIDDEN;
    key->dim = MS_FAMILY_DIM_OWN;
    return true;
}

/* A key replaces one of its name, unless one of both is ignored in the file and the other is
 * another key there: hidden_act = activation("silu", "hidden_activation") and
 * ignored("hidden_act"). */
static bool replaces(const ms_family_key *before, const ms_family_key *key)
{
    const bool was_ignored = before->row.kind == MS_KEY_IGNORED;
    const bool is_ignored = key->row.kind == MS_KEY_IGNORED;
    return strcmp(before->name, key->name) == 0 && before->object == key->object &&
           (was_ignored == is_ignored || strcmp(before->row.name, key->row.name) == 0);
}

static void drop_derived(ms_family_text *text, const char *name)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < text->derived_count; i++)
        if (strcmp(text->derived[i].name, name) != 0)
            text->derived[kept++] = text->derived[i];
    text->derived_count = kept;
}

static bool add_key(ms_resolver *r, const ms_text_node *at, const ms_family_key *key)
{
    ms_family_text *text = r->text;
    drop_derived(text, key->name);
    for (uint32_t i = 0; i < text->key_count; i++)
        if (replaces(&text->keys[i], key)) {
            text->keys[i] = *key;
            return true;
        }
    if (text->key_count == MS_FAMILY_KEYS) {
        ms_family_fail(r->reading, at, "no more than %d keys", MS_FAMILY_KEYS);
        return false;
    }
    text->keys[text->key_count++] = *key;
    return true;
}

/* ignored("a", "b") */
static bool read_ignored(ms_resolver *r, const ms_text_node *call)
{
    for (uint32_t i = 1; i < call->count; i++) {
        const char *name = call->items[i]->text;
        const ms_family_key key = {.name = name,
                                   .row = {.name = name, .kind = MS_KEY_IGNORED},
                                   .object = (uint8_t)r->object};
        if (call->items[i]->kind != MS_NODE_STRING) {
            ms_family_fail(r->reading, call->items[i], "the name of a key is wanted here");
            return false;
        }
        if (!add_key(r, call->items[i], &key))
            return false;
    }
    return true;
}

static bool fail_kind(ms_resolver *r, const ms_text_node *node)
{
    char hint[128];
    ms_nearest near = ms_nearest_to(node->kind == MS_NODE_NAME ? node->text : "");
    for (size_t i = 0; i < KIND_COUNT; i++)
        ms_nearest_offer(&near, kinds[i].name);
    ms_family_fail(
        r->reading, node,
        "a key is count(...), flag(...), fraction(...), "
        "activation(...), is_set(...), only(...), sides(...), integer(...), layer_types(), "
        "mlp_types(), rotary_layers(), dense_layers(), sparse_layers(), attention_layers(), "
        "sparse_gates(), rope(), "
        "choice(...), derived(...) or ignored(...)%s",
        ms_nearest_hint(&near, hint, sizeof hint));
    return false;
}

/* Sizes and counts that other figures are divided by. */
static bool is_size(const ms_family_key *key)
{
    return (key->dim != MS_FAMILY_DIM_OWN && key->dim != MS_FAMILY_DIM_NUMBER &&
            key->dim != MS_FAMILY_DIM_ROTARY && key->dim != MS_FAMILY_DIM_QUERY_RANK &&
            key->dim != MS_FAMILY_DIM_EXPERTS) ||
           key->row.offset == MEMBER(num_layers) || key->row.offset == MEMBER(encoder_layers) ||
           key->row.offset == MEMBER(decoder_layers);
}

/* num_experts = count(0, null=0): there may be none. */
static bool may_have_none(const ms_family_key *key)
{
    const bool is_of_experts = key->dim == MS_FAMILY_DIM_EXPERTS ||
                               key->dim == MS_FAMILY_DIM_CHOSEN || key->dim == MS_FAMILY_DIM_EXPERT;
    return is_of_experts && key->row.default_kind == MS_DEFAULT_VALUE &&
           key->row.default_value >= 0 && key->row.default_value < 1;
}

static bool has_size(const ms_key *row)
{
    const bool default_is_size =
        row->required || row->default_kind != MS_DEFAULT_VALUE || row->default_value >= 1;
    const bool null_is_size = row->kind != MS_KEY_OPTIONAL || row->null_kind != MS_DEFAULT_VALUE ||
                              (row->null_value >= 1 && row->null_value <= row->maximum);
    return default_is_size && null_is_size &&
           (row->default_kind != MS_DEFAULT_VALUE || row->default_value <= (double)row->maximum);
}

/* choice("cls", "mean", "classifier_pooling"): true for the second word; null=None: or null. */
static bool read_choice(ms_resolver *r, ms_text_node *call, ms_key *row)
{
    uint32_t spellings = 0;
    const ms_text_node *last = call->items[call->count - 1];
    row->may_be_null =
        last->kind == MS_NODE_NONE && last->keyword && !strcmp(last->keyword, "null");
    call->count -= row->may_be_null;
    bool is_right = call->count >= 3;
    for (uint32_t i = 1; i < call->count && is_right; i++)
        is_right = call->items[i]->kind == MS_NODE_STRING && !call->items[i]->keyword;
    if (!is_right) {
        ms_family_fail(r->reading, call, "two words are wanted here, and spellings of the key");
        return false;
    }
    if (row->may_be_null && row->offset == MEMBER(sees_all))
        row->given_offset = MEMBER(sees_ahead);
    row->choices[0] = call->items[1]->text;
    row->choices[1] = call->items[2]->text;
    for (uint32_t i = 3; i < call->count; i++)
        if (!read_spelling(r, call->items[i], row, &spellings))
            return false;
    return true;
}

/* intermediate_size = derived(expand * hidden_size): a size that the file does not have, or that
 * takes the place of the one it has. */
static bool read_derived(ms_resolver *r, const ms_text_statement *s)
{
    const ms_text_node *call = s->value, *name = s->targets[0];
    ms_family_text *text = r->text;
    ms_family_key key = {.name = name->text, .row = {.name = name->text, .kind = MS_KEY_COUNT}};
    const ms_text_node *symbol = call->count > 2 ? call->items[2] : NULL;
    if (call->count < 2 || call->count > 3 || call->items[1]->keyword || s->target_count != 1 ||
        (symbol && (!symbol->keyword || strcmp(symbol->keyword, "symbol") != 0 ||
                    symbol->kind != MS_NODE_STRING))) {
        ms_family_fail(r->reading, call, "NAME = derived(EXPRESSION, symbol=\"N\") is wanted here");
        return false;
    }
    key.symbol = symbol ? symbol->text : NULL;
    key.value = call->items[1];
    drop_derived(text, key.name);
    if (text->derived_count == MS_FAMILY_DERIVED) {
        ms_family_fail(r->reading, name, "no more than %d sizes", MS_FAMILY_DERIVED);
        return false;
    }
    if (!find_member(r, name, OF_COUNTS, &key))
        return false;
    text->derived[text->derived_count++] = key;
    return true;
}

static const char *symbol_of(const ms_text_node *call)
{
    for (uint32_t i = 1; i < call->count; i++)
        if (call->items[i]->keyword && strcmp(call->items[i]->keyword, "symbol") == 0)
            return call->items[i]->text;
    return NULL;
}

/* numbers("fullatt_block_indexes", 7, 15): the key in the file, and the numbers without it. */
static bool read_numbers(ms_resolver *r, const ms_text_node *call, ms_key *row)
{
    uint32_t spellings = 0;
    for (uint32_t i = 1; i < call->count; i++) {
        const ms_text_node *item = call->items[i];
        if (i == 1 ? !read_spelling(r, item, row, &spellings)
                   : item->kind != MS_NODE_NUMBER || item->number >= 53) {
            ms_family_fail(r->reading, item, "a spelling and numbers below 53 are wanted here");
            return false;
        }
        row->default_value += i == 1 ? 0 : (double)(UINT64_C(1) << (uint64_t)item->number);
    }
    return true;
}

bool ms_family_key_read(ms_resolver *r, const ms_text_statement *s)
{
    ms_text_node *call = s->value;
    const ms_text_node *name = call->kind == MS_NODE_CALL ? call->items[0] : call;
    size_t i = 0;
    if (call->kind == MS_NODE_CALL && s->kind == MS_STATEMENT_ASSIGN && is_name_of(name, "derived"))
        return read_derived(r, s);
    while (i < KIND_COUNT && !is_name_of(name, kinds[i].name))
        i++;
    if (call->kind != MS_NODE_CALL || i == KIND_COUNT)
        return fail_kind(r, name);
    if (s->kind == MS_STATEMENT_CALL)
        return kinds[i].kind == MS_KEY_IGNORED ? read_ignored(r, call) : fail_kind(r, name);
    ms_family_key key = {.name = s->targets[0]->text,
                         .object = (uint8_t)r->object,
                         .row = {.name = s->targets[0]->text, .kind = kinds[i].kind, .minimum = 1},
                         .symbol = symbol_of(call)};
    const bool has_sides = key.row.kind == MS_KEY_SIDES;
    if (s->target_count != (has_sides ? 2 : 1)) {
        ms_family_fail(r->reading, s->targets[s->target_count - 1],
                       has_sides ? "two names are wanted here: height and width"
                                 : "a key has one name");
        return false;
    }
    if (kinds[i].has_member && !find_member(r, s->targets[0], kinds[i].type, &key))
        return false;
    const bool is_read = key.row.kind == MS_KEY_CHOICE ? read_choice(r, call, &key.row)
                         : key.row.kind == MS_KEY_NUMBERS
                             ? read_numbers(r, call, &key.row)
                             : read_arguments(r, call, kinds[i].has_default, &key.row);
    if (!is_read)
        return false;
    if (key.row.kind == MS_KEY_LAYER_PATTERN) { /* a list, or a text of letters beside it */
        key.row.offset = MEMBER(num_layers);
        key.row.maximum = MAX_LAYERS;
        key.row.is_other_spelling = strcmp(key.name, "num_hidden_layers") != 0;
    }
    if (is_size(&key) && !may_have_none(&key) && (key.row.minimum < 1 || !has_size(&key.row))) {
        ms_family_fail(r->reading, call, "this is at least 1");
        return false;
    }
    if (!add_key(r, s->targets[0], &key) || !has_sides)
        return r->reading->status == MS_OK;
    key.name = s->targets[1]->text;
    key.row.offset += sizeof(uint64_t);
    key.is_second = true;
    return add_key(r, s->targets[1], &key);
}
