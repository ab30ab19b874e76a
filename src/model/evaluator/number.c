/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include "core/trace/trace.h"
#include "input/config/model/layer_kinds.h"
#include "input/config/model/model_config.h"
#include "model/evaluator/program.h"

/* ---- facts ---- */

static const struct {
    const char *name;
    ms_family_fact fact;
    bool of_layer; /* self.NAME, or NAME of a loop's module */
} names[] = {{"slides", MS_FACT_SLIDES, true},
             {"is_sparse", MS_FACT_IS_SPARSE, true},
             {"rotates", MS_FACT_ROTATES, true},
             {"has_sparse_gate", MS_FACT_SPARSE_GATE, true},
             {"reads_keys", MS_FACT_READS_KEYS, true},
             {"stores_keys", MS_FACT_STORES_KEYS, true},
             {"training", MS_FACT_TRAINING, true},
             {"decodes", MS_FACT_DECODES, true},
             {"attends", MS_FACT_ATTENDS, true},
             {"is_marked", MS_FACT_IS_MARKED, true},
             {"is_feed_forward", MS_FACT_IS_FEED_FORWARD, true},
             {"layer_number", MS_FACT_NUMBER, true},
             {"any_layer_slides", MS_FACT_ANY_SLIDES, false},
             {"any_layer_is_full", MS_FACT_ANY_FULL, false},
             {"any_layer_scans", MS_FACT_ANY_SCANS, false},
             {"head_is_tied", MS_FACT_IS_TIED, false},
             {"liger_swiglu", MS_FACT_LIGER_SWIGLU, false},
             {"is_first_stage", MS_FACT_FIRST_STAGE, false},
             {"is_last_stage", MS_FACT_LAST_STAGE, false},
             {"has_images", MS_FACT_HAS_IMAGES, false},
             {"sees_ahead", MS_FACT_SEES_AHEAD, false},
             {"count_marked", MS_FACT_MARKED_BLOCKS, false},
             {"predicts_words", MS_FACT_PREDICTS_WORDS, false},
             {"classifies_sequence", MS_FACT_OF_SEQUENCE, false},
             {"classifies_tokens", MS_FACT_OF_TOKENS, false},
             {"is_pretraining", MS_FACT_IS_PRETRAINING, false}};

bool ms_take_fact(ms_text_node *node, const char *name, bool of_layer)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].of_layer == of_layer && strcmp(names[i].name, name) == 0) {
            node->kind = MS_NODE_FACT;
            node->index = names[i].fact;
            return true;
        }
    return false;
}

/* ---- numbers ---- */

static double of_key(const ms_model_config *config, const ms_key *row)
{
    const void *member = (const char *)config + row->offset;
    switch ((int)row->kind) {
    case MS_KEY_COUNT:
    case MS_KEY_OPTIONAL:
    case MS_KEY_SIDES:
    case MS_KEY_LAYER_PATTERN:
        return (double)*(const uint64_t *)member;
    case MS_KEY_INTEGER:
        return (double)*(const int64_t *)member;
    case MS_KEY_BOOL:
    case MS_KEY_IS_SET:
    case MS_KEY_CHOICE:
        return *(const bool *)member;
    case MS_KEY_FRACTION:
        return *(const double *)member;
    case MS_KEY_ACTIVATION:
        return *(const ms_activation *)member;
    case MS_KEY_FIXED_BOOL:
        return row->default_value;
    default:
        return 0;
    }
}

/* The encoder's layers come first. */
static uint32_t count_layers(const ms_model_config *config, bool decodes)
{
    uint32_t count = 0;
    for (uint64_t i = 0; i < config->num_layers; i++)
        count += !!(ms_layer_kind(config, i) & MS_LAYER_DECODES) == decodes;
    return count;
}

/* Whether a number is that of all layers, of the encoder's, or of the decoder's. */
bool ms_family_lists_layers(const ms_text_node *value)
{
    const ms_text_node *number =
        value->kind == MS_NODE_COMPREHENSION ? value->items[1]->items[1] : NULL;
    const size_t offset = number && number->kind == MS_NODE_KEY ? number->key->row.offset : 0;
    return offset == offsetof(ms_model_config, num_layers) ||
           offset == offsetof(ms_model_config, encoder_layers) ||
           offset == offsetof(ms_model_config, decoder_layers);
}

uint32_t ms_family_list_count(const ms_model_config *config, const ms_text_node *list,
                              uint32_t *first)
{
    *first = 0;
    const ms_text_node *number = list->items[1]->items[1];
    const ms_text_facts facts = {.config = config};
    const size_t offset = number->kind == MS_NODE_KEY ? number->key->row.offset : 0;
    if (offset == offsetof(ms_model_config, encoder_layers))
        return count_layers(config, false);
    if (offset != offsetof(ms_model_config, decoder_layers))
        return (uint32_t)ms_family_number(&facts, number);
    *first = count_layers(config, false);
    return count_layers(config, true);
}

static uint32_t count_marked(const ms_vision_config *vision)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < MS_MOST_BLOCKS; i++)
        count += (uint32_t)(vision->marked_blocks[i / 64] >> i % 64 & 1);
    return count;
}

static double of_fact(const ms_text_facts *facts, const ms_text_node *node)
{
    const ms_model_config *config = facts->config;
    const uint32_t layer = node->number > 0 ? facts->looped : facts->layer;
    const uint8_t kind = layer < config->num_layers ? ms_layer_kind(config, layer) : 0;
    switch ((ms_family_fact)node->index) {
    case MS_FACT_SLIDES:
        return (kind & MS_LAYER_SLIDES) != 0;
    case MS_FACT_IS_SPARSE:
        return (kind & MS_LAYER_SPARSE) != 0;
    case MS_FACT_ROTATES:
        return !(kind & MS_LAYER_NO_ROTARY);
    case MS_FACT_SPARSE_GATE:
        return (kind & MS_LAYER_SPARSE_GATE) != 0;
    case MS_FACT_READS_KEYS:
        return layer < config->num_layers && ms_layer_reads_keys(config, layer);
    case MS_FACT_STORES_KEYS:
        return layer < config->num_layers && ms_layer_stores_keys(config, layer);
    case MS_FACT_TRAINING:
        return !facts->is_evaluating;
    case MS_FACT_IS_MARKED: {
        const uint32_t place = node->number > 0 ? facts->looped_place : facts->place;
        return place < MS_MOST_BLOCKS &&
               (config->vision.marked_blocks[place / 64] >> place % 64 & 1);
    }
    case MS_FACT_DECODES:
        return (kind & MS_LAYER_DECODES) != 0;
    case MS_FACT_NUMBER: /* in its list */
        if (layer == MS_NONE)
            return facts->place;
        return layer - (kind & MS_LAYER_DECODES ? count_layers(config, false) : 0);
    case MS_FACT_IS_FEED_FORWARD:
        return (kind & MS_LAYER_MLP_ALONE) != 0;
    case MS_FACT_ATTENDS:
        return !(kind & (MS_LAYER_TOKEN_MIXER | MS_LAYER_MLP_ALONE));
    case MS_FACT_ANY_SLIDES:
        return ms_model_has_layers(config, MS_LAYER_SLIDES);
    case MS_FACT_ANY_SCANS:
        return ms_model_has_layers(config, MS_LAYER_TOKEN_MIXER);
    case MS_FACT_ANY_FULL:
        return ms_model_has_layers_but(config, MS_LAYER_SLIDES);
    case MS_FACT_IS_TIED:
        return config->tie_word_embeddings;
    case MS_FACT_LIGER_SWIGLU:
        return facts->liger_swiglu;
    case MS_FACT_FIRST_STAGE:
        return facts->is_first_stage;
    case MS_FACT_LAST_STAGE:
        return facts->is_last_stage;
    case MS_FACT_HAS_IMAGES:
        return facts->has_images;
    case MS_FACT_SEES_AHEAD:
        return config->sees_ahead;
    case MS_FACT_MARKED_BLOCKS:
        return count_marked(&config->vision);
    case MS_FACT_PREDICTS_WORDS:
        return config->head == MS_HEAD_MASKED_LM || config->head == MS_HEAD_PRETRAINING;
    case MS_FACT_OF_SEQUENCE:
        return config->head == MS_HEAD_FIRST_TOKEN;
    case MS_FACT_OF_TOKENS:
        return config->head == MS_HEAD_EACH_TOKEN;
    case MS_FACT_IS_PRETRAINING:
        return config->head == MS_HEAD_PRETRAINING;
    }
    return 0;
}

/* Of 0 where there is no other answer: checks of the config see to it that it is not asked. */
static double divided(double a, double b)
{
    return b < 0 || b > 0 ? a / b : 0;
}

double ms_numbers_operate(ms_node_kind kind, double a, double b)
{
    switch ((int)kind) {
    case MS_NODE_ADD:
        return a + b;
    case MS_NODE_SUBTRACT:
        return a - b;
    case MS_NODE_MULTIPLY:
        return a * b;
    case MS_NODE_DIVIDE:
        return divided(a, b);
    case MS_NODE_DIVIDE_WHOLE:
        return floor(divided(a, b));
    case MS_NODE_REMAINDER:
        return a - b * floor(divided(a, b));
    case MS_NODE_POWER:
        return pow(a, b);
    case MS_NODE_EQUAL:
        return !(a < b || a > b);
    case MS_NODE_UNEQUAL:
        return a < b || a > b;
    case MS_NODE_LESS:
        return a < b;
    case MS_NODE_AT_MOST:
        return a <= b;
    case MS_NODE_GREATER:
        return a > b;
    case MS_NODE_AT_LEAST:
        return a >= b;
    default: /* and, or: the second decides */
        return b;
    }
}

double ms_family_number(const ms_text_facts *facts, const ms_text_node *node)
{
    if (node->kind == MS_NODE_NUMBER || node->kind == MS_NODE_TRUTH)
        return node->number;
    if (node->kind == MS_NODE_KEY)
        return of_key(facts->config, &node->key->row);
    if (node->kind == MS_NODE_FACT)
        return of_fact(facts, node);
    if (node->kind < MS_NODE_ADD || node->kind > MS_NODE_CHOICE)
        return 0;
    if (node->kind == MS_NODE_CHOICE) {
        const bool is_first = ms_family_truth(facts, node->items[1]);
        return ms_family_number(facts, node->items[is_first ? 0 : 2]);
    }
    const double a = ms_family_number(facts, node->items[0]);
    const bool is_true = a < 0 || a > 0;
    if (node->kind == MS_NODE_NOT)
        return !is_true;
    if (node->kind == MS_NODE_NEGATIVE)
        return -a;
    if (is_true == (node->kind == MS_NODE_OR) &&
        (node->kind == MS_NODE_OR || node->kind == MS_NODE_AND))
        return a;
    if (node->kind == MS_NODE_IS || node->kind == MS_NODE_IS_NOT) /* None: a count's null */
        return (a < (double)UINT64_MAX) == (node->kind == MS_NODE_IS_NOT);
    const double b = ms_family_number(facts, node->items[1]);
    return ms_numbers_operate(node->kind, a, b);
}

uint64_t ms_family_range_count(const ms_text_facts *facts, const ms_text_node *list)
{
    const ms_text_node *range = list->items[1];
    const double first = range->count > 2 ? ms_family_number(facts, range->items[1]) : 0;
    const double count = ms_family_number(facts, range->items[range->count - 1]) - first;
    return count > 0 ? (uint64_t)count : 0;
}

bool ms_family_truth(const ms_text_facts *facts, const ms_text_node *node)
{
    const double number = ms_family_number(facts, node);
    return number < 0 || number > 0;
}

uint64_t ms_family_head_width(const ms_model_config *config)
{
    return config->embedding_width ? config->embedding_width : config->hidden_size;
}
