/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a text asks of a config: its own checks, and sizes that modules can have.
 */
#include <inttypes.h>
#include <stdio.h>

#include "input/config/model/model_config.h"
#include "input/config/model/model_keys.h"
#include "model/evaluator/config/sharing.h"
#include "model/evaluator/family.h"
#include "model/evaluator/primitive.h"
#include "model/evaluator/resolve.h"

static ms_status fail(const ms_text_node *node, const char *what, double number, ms_error *err)
{
    const ms_family_key *key = ms_family_key_in(node);
    char shown[64] = "";
    if (number >= 0 && number <= 9007199254740992.0)
        snprintf(shown, sizeof shown, "%" PRIu64 " ", (uint64_t)number);
    if (key && err && err->status == MS_OK)
        snprintf(err->pointer, sizeof err->pointer, "/%.100s", key->row.name);
    return ms_fail(err, MS_ERR_CONFIG, "%s%s (%.80s:%" PRIu32 ")", shown, what,
                   node->file ? node->file->name : "", ms_family_line(node));
}

static ms_status check_dims(const ms_text_facts *facts, const ms_text_node *call, ms_error *err)
{
    const char *types = call->primitive->types;
    for (uint32_t i = 0, k = 0; i < call->count; i++, k++) {
        k += types[k] == '|';
        if (types[k] != 'd' || !call->items[i])
            continue;
        const double size = ms_family_number(facts, call->items[i]);
        if (!(size >= 1 && size <= MS_FAMILY_MOST_SIZE) || size > (double)(uint64_t)size)
            return fail(call->items[i],
                        size >= 0 ? "is not a size that a module can have"
                                  : "a module cannot have a size below 0",
                        size, err);
    }
    return MS_OK;
}

static ms_status check_class(const ms_text_facts *facts, const ms_family_class *c, ms_error *err);

static ms_status check_value(ms_text_facts facts, const ms_text_node *value, ms_error *err)
{
    ms_status status = MS_OK;
    switch ((int)value->kind) {
    case MS_NODE_CHOICE:
        return check_value(facts, value->items[ms_family_truth(&facts, value->items[1]) ? 0 : 2],
                           err);
    case MS_NODE_COMPREHENSION: {
        if (!ms_family_lists_layers(value) &&
            ms_family_range_count(&facts, value) > MS_FAMILY_MODULES)
            return fail(value->items[1], "are too many modules of a list",
                        (double)ms_family_range_count(&facts, value), err);
        if (value->primitive)
            return check_value(facts, value->items[0], err);
        const bool of_layers = ms_family_lists_layers(value);
        uint32_t first;
        const uint32_t count = ms_family_list_count(facts.config, value, &first);
        for (uint32_t i = 0; i < count && status == MS_OK; i++) {
            if (of_layers)
                facts.layer = first + i;
            else
                facts.place = i;
            status = check_value(facts, value->items[0], err);
        }
        return status;
    }
    case MS_NODE_CLASS:
        return check_class(&facts, value->klass, err);
    case MS_NODE_PRIMITIVE:
        return check_dims(&facts, value, err);
    default:
        return MS_OK;
    }
}

static ms_status check_class(const ms_text_facts *facts, const ms_family_class *c, ms_error *err)
{
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < c->field_count && status == MS_OK; i++)
        status = check_value(*facts, c->fields[i].value, err);
    return status;
}

/* The head's logits and the hidden states have the sizes of the embedding that it names. */
static ms_status check_table(const ms_text_facts *facts, const ms_text_node *table, ms_error *err)
{
    const uint64_t wanted[] = {facts->config->vocab_size, ms_family_head_width(facts->config)};
    for (uint32_t i = 0; i < 2; i++) {
        const double size = ms_family_number(facts, table->items[i]);
        if (size >= 0 && size <= MS_FAMILY_MOST_SIZE && (uint64_t)size != wanted[i])
            return fail(table->items[i],
                        i ? "is not the hidden size, which the embedding of the head has"
                          : "is not the vocabulary, which the embedding of the head has",
                        size, err);
    }
    return MS_OK;
}

ms_status ms_family_text_check(const ms_model_config *config, ms_error *err)
{
    const ms_family_text *text = config->family->text;
    const ms_text_facts facts = {.config = config, .layer = MS_NONE};
    ms_status status = ms_config_rules_check(config, err);
    if (status == MS_OK)
        status = ms_check_sharing(config, err);
    if (status == MS_OK && config->intermediate_size == 0 &&
        config->num_experts == 0) /* a family may derive it */
        return ms_fail(err, MS_ERR_CONFIG, "the key intermediate_size is missing in class config");
    if (status == MS_OK)
        status = check_class(&facts, &text->root, err);
    return status == MS_OK && text->table ? check_table(&facts, text->table, err) : status;
}

const ms_layer_rule ms_layer_rules[MS_LAYER_RULES] = {
    {"slides", MS_LAYER_SLIDES, false},
    {"is_sparse", MS_LAYER_SPARSE, false},
    {"has_sparse_gate", MS_LAYER_SPARSE_GATE, false},
    {"rotates", MS_LAYER_NO_ROTARY, true},
    {"attends", MS_LAYER_TOKEN_MIXER, true},
    {"is_feed_forward", MS_LAYER_MLP_ALONE, false},
};

uint8_t ms_family_text_kind(const ms_model_config *config, uint64_t layer)
{
    const ms_family_text *text = config->family->text;
    const ms_text_facts facts = {.config = config, .layer = (uint32_t)layer};
    uint8_t kind =
        config->decoder_layers > 0 && layer >= config->encoder_layers ? MS_LAYER_DECODES : 0;
    for (size_t i = 0; i < MS_LAYER_RULES; i++)
        if (text->rules[i]) {
            const ms_text_node *value = text->rules[i]->text->body.items[0]->value;
            const bool has_flag = ms_family_truth(&facts, value) != ms_layer_rules[i].lacks;
            const uint8_t flag = ms_layer_rules[i].flag;
            kind = (uint8_t)(has_flag ? kind | flag : kind & ~flag);
        }
    return kind & MS_LAYER_MLP_ALONE ? (uint8_t)(kind & ~MS_LAYER_TOKEN_MIXER) : kind;
}
