/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mistral: the plain decoder without biases.
 */
#include "model/decoder.h"
#include "model/families.h"
#include "model/family_keys.h"

/* clang-format off */
static const ms_key keys[] = {
    COUNT("vocab_size", vocab_size, 32000, MAX_VOCAB),
    COUNT("hidden_size", hidden_size, 4096, MAX_HIDDEN),
    COUNT("intermediate_size", intermediate_size, 14336, MAX_INTERMEDIATE),
    COUNT("num_hidden_layers", num_layers, 32, MAX_LAYERS),
    COUNT("num_attention_heads", num_heads, 32, MAX_HEADS),
    KV_HEADS_OR(8),
    HEAD_DIM_FROM_HIDDEN,
    COUNT("max_position_embeddings", max_positions, 131072, MAX_POSITIONS),
    ACTIVATION("hidden_act", MS_ACTIVATION_SILU),
    BOOL("tie_word_embeddings", tie_word_embeddings, false),
    SLIDING_WINDOW,
    FRACTION("attention_dropout", attention_dropout, 0),
    PAD_TOKEN,
    DECODER_IGNORED,
};
/* clang-format on */

static bool build(ms_model *model)
{
    return ms_decoder_build(model, (ms_decoder_style){.position_ids_first = true});
}

static const ms_model_program program = {build, ms_decoder_forward};

const ms_family ms_family_mistral = {
    .model_type = "mistral",
    .classes = {{"MistralForCausalLM", MS_HEAD_CAUSAL_LM},
                {"MistralForSequenceClassification", MS_HEAD_LAST_TOKEN}},
    .keys = keys,
    .key_count = sizeof keys / sizeof *keys,
    .program = &program};
