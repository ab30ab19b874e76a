/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sizes that a text names, with their symbols.
 */
#include "model/evaluator/evaluate.h"
#include "input/config/model/model_config.h"

ms_dim ms_family_key_dim(const ms_model *model, const ms_family_key *key)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_text_facts facts = {.config = model->config};
    const ms_text_node node = {.kind = MS_NODE_KEY, .key = key};
    switch (key->dim) {
    case MS_FAMILY_DIM_HIDDEN:
        return model->hidden;
    case MS_FAMILY_DIM_INTERMEDIATE:
        return model->intermediate;
    case MS_FAMILY_DIM_VOCAB:
        return model->vocab;
    case MS_FAMILY_DIM_HEADS:
        return model->heads;
    case MS_FAMILY_DIM_KV_HEADS:
        return model->kv_heads;
    case MS_FAMILY_DIM_HEAD:
        return model->head_dim;
    case MS_FAMILY_DIM_POSITIONS:
        return ms_dim_name(s, "P", model->config->max_positions);
    case MS_FAMILY_DIM_ROTARY:
        return ms_dim_name(s, "R", model->config->rotary_width);
    case MS_FAMILY_DIM_EMBEDDING:
    case MS_FAMILY_DIM_TABLE:
        if (model->config->embedding_width == model->config->hidden_size)
            return model->hidden;
        return ms_dim_name(s, key->dim == MS_FAMILY_DIM_TABLE ? "E" : "W",
                           model->config->embedding_width);
    case MS_FAMILY_DIM_TYPES: /* positions have their symbol first */
        (void)ms_dim_name(s, "P", model->config->max_positions);
        return ms_dim_name(s, "T", model->config->sentence_types);
    case MS_FAMILY_DIM_LABELS:
        return model->labels;
    case MS_FAMILY_DIM_EXPERTS:
        return ms_dim_name(s, "E", model->config->num_experts);
    case MS_FAMILY_DIM_CHOSEN:
        return ms_dim_name(s, "K", model->config->experts_per_token);
    case MS_FAMILY_DIM_EXPERT:
        return ms_dim_name(s, "F", model->config->expert_size);
    case MS_FAMILY_DIM_SHARED:
        return ms_dim_name(s, "Fs", model->config->shared_expert_size);
    case MS_FAMILY_DIM_PLAIN_KEY:
        return ms_dim_name(s, "Dn", model->config->plain_key_dim);
    case MS_FAMILY_DIM_VALUE:
        return ms_dim_name(s, "Dv", model->config->value_dim);
    case MS_FAMILY_DIM_LATENT:
        return ms_dim_name(s, "Rk", model->config->latent_rank);
    case MS_FAMILY_DIM_QUERY_RANK:
        return ms_dim_name(s, "Rq", model->config->query_rank);
    case MS_FAMILY_DIM_INDEX_HEADS:
        return ms_dim_name(s, "Hi", model->config->index_heads);
    case MS_FAMILY_DIM_INDEX:
        return ms_dim_name(s, "Di", model->config->index_dim);
    case MS_FAMILY_DIM_TOKENS:
        return model->seq;
    case MS_FAMILY_DIM_SOURCE:
        return model->source;
    case MS_FAMILY_DIM_NAMED:
        return ms_dim_name(s, key->symbol, (uint64_t)ms_family_number(&facts, &node));
    case MS_FAMILY_DIM_NUMBER:
        return ms_dim_number(s, (uint64_t)ms_family_number(&facts, &node));
    case MS_FAMILY_DIM_OWN:
        if (key->value && !key->symbol)
            return ms_family_dim_of(model, &facts, key->value);
        break;
    }
    return ms_dim_name(s, key->symbol ? key->symbol : key->name,
                       (uint64_t)ms_family_number(&facts, &node));
}

ms_dim ms_family_dim_of(const ms_model *model, const ms_text_facts *facts, const ms_text_node *node)
{
    ms_symbols *s = &model->tape->trace->symbols;
    if (node->kind == MS_NODE_KEY &&
        (node->key->row.kind <= MS_KEY_OPTIONAL || node->key->row.kind == MS_KEY_SIDES))
        return ms_family_key_dim(model, node->key);
    if (node->kind == MS_NODE_CHOICE) {
        const bool is_first = ms_family_truth(facts, node->items[1]);
        return ms_family_dim_of(model, facts, node->items[is_first ? 0 : 2]);
    }
    if (node->kind == MS_NODE_ADD || node->kind == MS_NODE_MULTIPLY) {
        const ms_dim a = ms_family_dim_of(model, facts, node->items[0]);
        const ms_dim b = ms_family_dim_of(model, facts, node->items[1]);
        return node->kind == MS_NODE_ADD ? ms_dim_add(s, a, b) : ms_dim_mul(s, a, b);
    }
    if (node->kind == MS_NODE_DIVIDE_WHOLE && node->items[1]->kind == MS_NODE_NUMBER &&
        (uint64_t)node->items[1]->number == 2) {
        const ms_dim a = ms_family_dim_of(model, facts, node->items[0]);
        if (a.value % 2 == 0)
            return ms_dim_half(s, a);
    }
    return ms_dim_number(s, (uint64_t)ms_family_number(facts, node));
}
