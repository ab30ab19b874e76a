/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mamba 2: heads with a state each, scanned over chunks of the sequence, between a short
 * convolution and a gated norm.
 */
#include <inttypes.h>
#include <stdio.h>

#include "input/config/model/family.h"
#include "model/family/family_keys.h"
#include "model/family/family_list.h"
#include "model/recurrent/mamba2_mixer.h"
#include "model/recurrent/mamba_model.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 32768, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("num_hidden_layers", num_layers, 64, MAX_LAYERS),
    COUNT("num_heads", scan_heads, 128, MAX_HEADS),
    COUNT("head_dim", scan_head_dim, 64, MAX_HEAD_DIM),
    SCAN_STATES("state_size", 128),
    COUNT("n_groups", state_groups, 8, MAX_HEADS),
    COUNT("expand", expansion, 2, MAX_HEADS),
    COUNT("conv_kernel", convolution_width, 4, MAX_HEAD_DIM),
    SCAN_CHUNK(NULL, 256),
    BOOL("use_bias", scan_bias, false),
    BOOL("use_conv_bias", convolution_bias, true),
    BOOL("residual_in_fp32", residual_in_fp32, true),
    SCAN_ACTIVATION("hidden_act"),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    PAD_TOKEN_OR(1),
    DECODER_IGNORED, IGNORED("layer_norm_epsilon"), IGNORED("time_step_rank"),
    IGNORED("time_step_min"), IGNORED("time_step_max"), IGNORED("time_step_floor"),
    IGNORED("time_step_limit"), IGNORED("rescale_prenorm_residual"), IGNORED("rms_norm"),
    IGNORED("norm_before_gate"),
};
/* clang-format on */

/* ---- the family ---- */

static const ms_mixer_kind kind = {ms_mamba2_mixer_new, ms_mamba2_mixer_call};

static bool build(ms_model *model)
{
    return ms_mamba_build(model, &kind);
}

static ms_status derive(ms_model_config *config, ms_error *err)
{
    (void)err;
    config->num_heads = config->num_kv_heads = config->scan_heads;
    config->head_dim = config->scan_head_dim;
    config->intermediate_size = config->hidden_size * config->expansion;
    return MS_OK;
}

static ms_status check(const ms_model_config *c, ms_error *err)
{
    const uint64_t inner = c->hidden_size * c->expansion, heads = c->scan_heads * c->scan_head_dim;
    if (inner != heads) {
        snprintf(err->pointer, sizeof err->pointer, "/num_heads");
        return ms_fail(err, MS_ERR_CONFIG,
                       "%" PRIu64 " heads of %" PRIu64 " are not hidden_size * expand, %" PRIu64,
                       c->scan_heads, c->scan_head_dim, inner);
    }
    if (c->scan_heads % c->state_groups == 0 && inner % c->state_groups == 0)
        return MS_OK;
    snprintf(err->pointer, sizeof err->pointer, "/n_groups");
    return ms_fail(err, MS_ERR_CONFIG, "%" PRIu64 " does not divide num_heads %" PRIu64,
                   c->state_groups, c->scan_heads);
}

static const ms_model_program program = {build, ms_mamba_forward};

static const ms_family_facts facts = {
    .peft = {.usual_lora = "in_proj",
             .refused = {{"out_proj", "PEFT refuses to adapt it", "in_proj"}}},
    .llama_cpp = "mamba2",
    .needs_gguf = true,
};

const ms_family ms_family_mamba2 = {.model_type = "mamba2",
                                    .facts = &facts,
                                    .classes = {{"Mamba2ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                    .keys = keys,
                                    .key_count = sizeof keys / sizeof *keys,
                                    .derive = derive,
                                    .check = check,
                                    .scales_logits = true, /* to fp32 */
                                    .has_no_attention = true,
                                    .has_no_rotary = true,
                                    .has_no_mlp_module = true,
                                    .unpredicted =
                                        MS_UNPREDICTED_HOST_PARAMETERS | MS_UNPREDICTED_PADDING,
                                    .takes_cache = true,
                                    .program = &program};
