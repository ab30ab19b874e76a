/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/model.h"

#include "input/config/model/model_config.h"
#include "input/config/quantize/quantize.h"

void ms_model_init(ms_model *model, ms_tape *tape, ms_arena *arena, const ms_model_config *config,
                   const ms_run_config *run)
{
    ms_symbols *s = &tape->trace->symbols;
    uint64_t tokens = ms_layout_tokens(&run->parallel.layout, run->seq_tokens);
    *model = (ms_model){.tape = tape,
                        .arena = arena,
                        .config = config,
                        .run = run,
                        .batch = ms_dim_name(s, "B", run->batch),
                        .seq = ms_dim_name(s, "S", tokens),
                        .hidden = ms_dim_name(s, "H", config->hidden_size),
                        .intermediate = ms_dim_name(s, "I", config->intermediate_size),
                        .vocab = ms_dim_name(s, "V", config->vocab_size),
                        .heads = ms_dim_name(s, "Hq", config->num_heads),
                        .kv_heads = ms_dim_name(s, "Hk", config->num_kv_heads),
                        .head_dim = ms_dim_name(s, "D", config->head_dim),
                        .labels = {.value = config->num_labels}};
    ms_attention_backends(config, run, model->backends);
    model->attention = model->backends[0].plain;
    if (config->is_encoder_decoder)
        model->source = ms_dim_name(s, "Ss", ms_source_tokens(run));
    if (config->head != MS_HEAD_CAUSAL_LM && config->head != MS_HEAD_MASKED_LM &&
        config->head != MS_HEAD_TARGET_LM)
        model->labels = ms_dim_name(s, "C", config->num_labels);
    uint64_t turned = ms_rotary_dim(config);
    model->rotary_dim = turned == config->head_dim ? model->head_dim : ms_dim_name(s, "R", turned);
}

void ms_model_free(ms_model *model)
{
    ms_vec_free(&model->leaves);
    ms_vec_free(&model->router_logits);
    ms_vec_free(&model->shared.items);
    ms_exceptions_free(model->exceptions);
}

void ms_model_forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    model->cache = in->cache;
    model->config->family->program->forward(model, in, out);
    model->cache = NULL;
}

bool ms_model_index_leaves(ms_model *model)
{
    uint32_t count = model->tape->trace->scopes.count;
    uint32_t *leaf_by_scope = ms_arena_array(model->arena, uint32_t, count);
    if (!leaf_by_scope)
        return false;
    for (uint32_t i = 0; i < count; i++)
        leaf_by_scope[i] = MS_NONE;
    for (uint32_t i = 0; i < model->leaves.count; i++)
        leaf_by_scope[model->leaves.items[i].scope] = i;
    model->leaf_by_scope = leaf_by_scope;
    model->indexed_scopes = count;
    return true;
}

ms_leaf_module *ms_model_leaf(const ms_model *model, uint32_t scope)
{
    uint32_t leaf = scope < model->indexed_scopes ? model->leaf_by_scope[scope] : MS_NONE;
    return leaf == MS_NONE ? NULL : &model->leaves.items[leaf];
}
