/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Gemma 3n: keys, rules and modules of the text model.
 */
#include "model/dense/gemma3n/gemma3n.h"

#include "input/config/model/family.h"
#include "model/dense/gemma.h"
#include "model/dense/gemma3n/layer.h"
#include "model/dense/gemma3n/mlp.h"
#include "model/dense/gemma3n/run.h"
#include "model/dense/gemma4/attention.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("num_hidden_layers", num_layers, 35, MAX_LAYERS),
    COUNT("vocab_size", vocab_size, 262400, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 2048, MAX_HIDDEN),
    { .name = "intermediate_size", .kind = MS_KEY_COUNT, .offset = MEMBER(intermediate_size),
      .default_value = 16384, .minimum = 1, .maximum = MAX_INTERMEDIATE, .may_be_list = true },
    COUNT("num_attention_heads", num_heads, 8, MAX_HEADS),
    COUNT("num_key_value_heads", num_kv_heads, 2, MAX_HEADS),
    COUNT("head_dim", head_dim, 256, MAX_HEAD_DIM),
    { .name = "num_kv_shared_layers", .kind = MS_KEY_COUNT, .offset = MEMBER(sharing_layers),
      .default_value = 15, .maximum = MAX_LAYERS },
    COUNT("hidden_size_per_layer_input", layer_input_size, 256, MAX_HEAD_DIM),
    COUNT("vocab_size_per_layer_input", layer_input_rows, 262144, MAX_VOCAB),
    COUNT("laurel_rank", laurel_rank, 64, MAX_HIDDEN),
    { .name = "altup_num_inputs", .kind = MS_KEY_COUNT, .offset = MEMBER(altup_streams),
      .default_value = 4, .minimum = 2, .maximum = MS_GEMMA3N_MOST_STREAMS },
    { .name = "altup_active_idx", .kind = MS_KEY_COUNT, .offset = MEMBER(active_stream),
      .maximum = MS_GEMMA3N_MOST_STREAMS },
    IS_SET("altup_coef_clip", clips_coefficients, true),
    BOOL("altup_correct_scale", scales_corrected, true),
    { .name = "activation_sparsity_pattern", .kind = MS_KEY_SPARSE_GATES },
    COUNT("max_position_embeddings", max_positions, 32768, MAX_POSITIONS),
    ACTIVATION("hidden_activation", MS_ACTIVATION_GELU_TANH),
    BOOL("tie_word_embeddings", tie_word_embeddings, true),
    BOOL("attention_bias", attention_bias, false),
    COUNT("sliding_window", sliding_window, 512, MAX_POSITIONS),
    LAYER_TYPES,
    FRACTION("attention_dropout", attention_dropout, 0),
    IS_SET("final_logit_softcapping", caps_logits, true),
    PAD_TOKEN_OR(0),
    IGNORED("altup_lr_multiplier"),
    IGNORED("query_pre_attn_scalar"),
    IGNORED("rope_local_base_freq"),
    DECODER_IGNORED,
};
/* clang-format on */

/* Every fifth layer does not slide; of more than ten layers, the gates of the first ten are sparse.
 */
static uint8_t layer_kind(const ms_model_config *config, uint64_t layer)
{
    enum { PATTERN = 5, SPARSE_GATES = 10 };
    bool is_sparse = config->num_layers > SPARSE_GATES && layer < SPARSE_GATES;
    return (uint8_t)(((layer + 1) % PATTERN ? MS_LAYER_SLIDES : 0) |
                     (is_sparse ? MS_LAYER_SPARSE_GATE : 0));
}

static ms_status check(const ms_model_config *config, ms_error *err)
{
    ms_status status = ms_check_heads_divide(config, err);
    if (status != MS_OK)
        return status;
    if (!config->caps_logits || !config->clips_coefficients) {
        snprintf(err->pointer, sizeof err->pointer, "/%s",
                 config->caps_logits ? "altup_coef_clip" : "final_logit_softcapping");
        return ms_fail(err, MS_ERR_CONFIG, "null: the framework's class takes a number alone");
    }
    if (config->active_stream >= config->altup_streams) {
        snprintf(err->pointer, sizeof err->pointer, "/altup_active_idx");
        return ms_fail(err, MS_ERR_CONFIG,
                       "%" PRIu64 " is past the last of %" PRIu64 " inputs (altup_num_inputs)",
                       config->active_stream, config->altup_streams);
    }
    return ms_gemma4_check_sharing(config, err);
}

static ms_decoder_style style_of(const ms_model_config *config)
{
    ms_decoder_style style = ms_gemma2_style(config);
    style.norm = ms_gemma4_norm;
    style.build_attention = ms_gemma4_attention_new;
    style.attention = ms_gemma4_attention;
    style.build_mlp = ms_gemma3n_mlp_new;
    style.mlp = ms_gemma3n_mlp;
    style.run_layer = ms_gemma3n_layer_run;
    style.build_more_of_layer = ms_gemma3n_layer_new;
    style.build_more = ms_gemma3n_more_new;
    style.run = ms_gemma3n_run;
    style.rotary_by_kind = true;
    return style;
}

static bool build(ms_model *model)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_model_config *c = model->config;
    ms_gemma3n *g = ms_arena_array(model->arena, ms_gemma3n, 1);
    ms_gemma3n_layer *layers = ms_arena_array(model->arena, ms_gemma3n_layer, c->num_layers);
    if (!g || !layers)
        return false;
    *g = (ms_gemma3n){.of_layers = layers,
                      .layers = ms_dim_name(s, "L", c->num_layers),
                      .streams = ms_dim_name(s, "N", c->altup_streams),
                      .width = ms_dim_name(s, "P", c->layer_input_size),
                      .rank = ms_dim_name(s, "R", c->laurel_rank)};
    g->joined = ms_dim_mul(s, g->layers, g->width);
    ms_decoder_style style = style_of(c);
    style.own = g;
    return ms_decoder_build(model, style);
}

static const ms_model_program program = {build, ms_decoder_forward};

static const ms_family_facts facts = {
    .compared = MS_WITH_CHUNKED_LOSS,
    .has_head_norms = true,
};

const ms_family ms_family_gemma3n_text = {.model_type = "gemma3n_text",
                                          .facts = &facts,
                                          .classes = {{"Gemma3nForCausalLM", MS_HEAD_CAUSAL_LM}},
                                          .keys = keys,
                                          .key_count = sizeof keys / sizeof *keys,
                                          .check = check,
                                          .layer_kind = layer_kind,
                                          .unpredicted = MS_UNPREDICTED_DOCUMENTS |
                                                         MS_UNPREDICTED_HOST_PARAMETERS |
                                                         MS_UNPREDICTED_PACKED,
                                          .program = &program};
