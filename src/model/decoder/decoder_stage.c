/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/decoder/decoder_stage.h"

#include "input/config/model/model_config.h"
#include "model/blocks/blocks.h"
#include "torch/ops/ops.h"
#include "core/trace/build.h"

/* ---- construction ---- */

static const ms_stage_program *program_of(const ms_model *model)
{
    return model->config->family->stages;
}

static bool has_layer(const ms_pipeline_stage *stages, uint64_t count, uint32_t layer)
{
    for (uint64_t i = 0; i < count; i++)
        if (layer >= stages[i].first && layer < stages[i].end)
            return true;
    return false;
}

static bool has_end(const ms_pipeline_stage *stages, uint64_t count, bool is_first)
{
    for (uint64_t i = 0; i < count; i++)
        if (is_first ? stages[i].is_first : stages[i].is_last)
            return true;
    return false;
}

static bool is_kept(ms_model *model, const ms_pipeline_stage *stages, uint64_t count,
                    uint32_t scope)
{
    uint32_t layer = ms_scope_layer(model->tape, scope);
    return layer == MS_NONE
               ? has_end(stages, count, scope == program_of(model)->embedding_scope(model))
               : has_layer(stages, count, layer);
}

static void keep(ms_tape *tape, uint32_t place, ms_parameter parameter)
{
    ms_info(tape, parameter.tensor)->leaf = place;
    tape->parameters.items[place] = parameter;
}

/* A weight of its own for a head that is tied to the embedding of another stage on this rank. */
static ms_tensor new_head(ms_tape *tape, ms_linear_module *head, uint32_t name)
{
    const ms_tensor_info info = *ms_info(tape, head->weight);
    ms_tensor own = ms_empty(tape, info.shape, (ms_dtype)info.dtype);
    ms_retain(tape, own);
    if (!own)
        return 0;
    ms_info(tape, own)->requires_grad = true;
    ms_trace_label(tape->trace, ms_info(tape, own)->storage, name, head->scope);
    ms_trace_categorize(tape->trace, ms_info(tape, own)->storage, MS_CATEGORY_WEIGHT);
    return head->weight = own;
}

void ms_stages_keep(ms_model *model, const ms_pipeline_stage *stages, uint64_t count)
{
    ms_tape *tape = model->tape;
    ms_linear_module *made = program_of(model)->head(model);
    uint32_t kept = 0;
    ms_parameter head = {0}; /* tied to an embedding that another rank has */
    for (uint32_t i = 0; i < tape->parameters.count && tape->status == MS_OK; i++) {
        const ms_parameter parameter = tape->parameters.items[i];
        bool is_tied = parameter.tensor == made->weight &&
                       parameter.scope == program_of(model)->embedding_scope(model);
        if (is_tied && has_end(stages, count, true) && has_end(stages, count, false)) {
            head = parameter;
            head.tensor = new_head(tape, made, parameter.name);
        }
        if (is_kept(model, stages, count, parameter.scope))
            keep(tape, kept++, parameter);
        else if (parameter.tensor == made->weight && has_end(stages, count, false))
            head = parameter;
        else
            ms_storage_empty(tape, parameter.tensor);
    }
    if (head.tensor) {
        head.scope = made->scope;
        head.redistributes = false; /* a table's is */
        keep(tape, kept++, head);
    }
    tape->parameters.count = kept;
}

/* ---- forward ---- */

ms_tensor ms_stage_forward(ms_model *model, const ms_pipeline_stage *stage, ms_tensor input,
                           ms_stage_pass *pass)
{
    return program_of(model)->forward(model, stage, input, pass);
}

void ms_stage_resume(ms_model *model, const ms_stage_pass *pass)
{
    program_of(model)->resume(model, pass);
}
