/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/decoder/decoder_stage.h"

#include "input/config/model/model_config.h"
#include "model/blocks/blocks.h"
#include "model/decoder/decoder.h"
#include "torch/ops/ops.h"
#include "core/trace/build.h"

/* ---- construction ---- */

static const ms_stage_program *program_of(const ms_model *model)
{
    return model->config->family->stages;
}

static uint32_t embedding_scope(const ms_model *model)
{
    const ms_stage_program *program = program_of(model);
    return program ? program->embedding_scope(model)
                   : ((const ms_decoder *)model->modules)->embedding_scope;
}

static ms_linear_module *head_of(const ms_model *model)
{
    const ms_stage_program *program = program_of(model);
    return program ? program->head(model) : &((ms_decoder *)model->modules)->head;
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
    return layer == MS_NONE ? has_end(stages, count, scope == embedding_scope(model))
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
    ms_linear_module *made = head_of(model);
    uint32_t kept = 0;
    ms_parameter head = {0}; /* tied to an embedding that another rank has */
    for (uint32_t i = 0; i < tape->parameters.count && tape->status == MS_OK; i++) {
        const ms_parameter parameter = tape->parameters.items[i];
        bool is_tied =
            parameter.tensor == made->weight && parameter.scope == embedding_scope(model);
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

/* arange(S)[None] */
static ms_tensor new_positions(ms_model *model)
{
    return ms_unsqueeze(model->tape, ms_empty(model->tape, MS_SHAPE(model->seq), MS_DTYPE_I64), 0);
}

static void run_layers(ms_model *model, ms_locals *f, const ms_pipeline_stage *stage,
                       ms_tensor *hidden, ms_stage_pass *pass)
{
    ms_tape *tape = model->tape;
    ms_decoder *d = model->modules;
    ms_tensor *positions = ms_local(f, new_positions(model));
    d->full_mask = d->sliding_mask = 0;
    d->position_ids = *positions;
    if (!ms_idle(tape))
        ms_decoder_make_rotary(model, d, f, *hidden, *positions);
    *pass = (ms_stage_pass){.position_ids = *positions};
    for (int i = 0; i < 2; i++) {
        pass->cos[i] = d->rotary[i].cos;
        pass->sin[i] = d->rotary[i].sin;
    }
    ms_tensor *out = ms_local(f, 0); /* the loop's variable lives until the module returns */
    for (uint64_t i = stage->first; i < stage->end && !ms_idle(tape); i++) {
        ms_assign(f, out, ms_decoder_call_layer(model, (uint32_t)i, *hidden, *positions, true));
        ms_assign(f, hidden, *out);
    }
}

ms_tensor ms_stage_forward(ms_model *model, const ms_pipeline_stage *stage, ms_tensor input,
                           ms_stage_pass *pass)
{
    if (program_of(model))
        return program_of(model)->forward(model, stage, input, pass);
    ms_tape *tape = model->tape;
    ms_decoder *d = model->modules;
    uint32_t previous = ms_scope_enter(tape, d->scope);
    ms_module_begin(tape, MS_NONE);
    ms_locals f = ms_locals_begin(tape);
    ms_argument(&f, input);
    ms_tensor *hidden = ms_local(&f, stage->is_first ? ms_decoder_embed(model, d, input) : input);
    run_layers(model, &f, stage, hidden, pass);
    if (stage->is_last && !ms_idle(tape))
        ms_assign(&f, hidden,
                  ms_linear_call(model, &d->head, d->style.norm(model, &d->norm, *hidden)));
    ms_tensor result = ms_locals_end(&f, hidden);
    ms_module_end(tape, MS_NONE);
    tape->scope = previous;
    return result;
}

void ms_stage_resume(ms_model *model, const ms_stage_pass *pass)
{
    if (program_of(model)) {
        program_of(model)->resume(model, pass);
        return;
    }
    ms_decoder *d = model->modules;
    d->position_ids = pass->position_ids;
    for (int i = 0; i < 2; i++) {
        d->rotary[i].cos = pass->cos[i];
        d->rotary[i].sin = pass->sin[i];
    }
}
