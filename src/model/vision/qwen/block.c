/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/qwen/block.h"

#include <stdio.h>

#include "input/config/model/model_config.h"
#include "model/blocks/blocks.h"
#include "torch/ops/ops.h"
#include "torch/treatments/recompute.h"

/* ---- norms ---- */

ms_norm_module ms_qwen_norm_new(ms_model *model, const ms_qwen_block_form *form, uint32_t parent,
                                const char *name, ms_dim width)
{
    return ms_norm_new(model, parent, name, width, !form->is_rms);
}

ms_tensor ms_qwen_norm_call(ms_model *model, const ms_qwen_block_form *form,
                            const ms_norm_module *module, ms_tensor x)
{
    return form->is_rms ? ms_rms_norm_call(model, module, x) : ms_layer_norm_call(model, module, x);
}

/* ---- construction ---- */

uint32_t ms_qwen_numbered(ms_model *model, uint32_t parent, uint64_t number)
{
    char name[24];
    snprintf(name, sizeof name, "%u", (unsigned)number);
    return ms_scope_add(model->tape, parent, name, MS_NONE);
}

static void mlp_new(ms_model *model, ms_qwen_block *b, ms_dim hidden)
{
    const ms_qwen_block_form *form = b->form;
    ms_dim middle =
        ms_dim_name(&model->tape->trace->symbols, "Iv", model->config->vision.intermediate_size);
    b->mlp_scope = ms_scope_add(model->tape, b->scope, "mlp", MS_NONE);
    if (form->gate)
        b->gate = ms_linear_new(model, b->mlp_scope, form->gate, hidden, middle, true);
    b->first = ms_linear_new(model, b->mlp_scope, form->first, hidden, middle, true);
    b->last = ms_linear_new(model, b->mlp_scope, form->last, middle, hidden, true);
}

static void block_new(ms_model *model, ms_qwen_block *b, ms_dim hidden)
{
    b->norm1 = ms_qwen_norm_new(model, b->form, b->scope, "norm1", hidden);
    b->norm2 = ms_qwen_norm_new(model, b->form, b->scope, "norm2", hidden);
    b->attention = ms_qwen_attention_new(model, b->scope, hidden);
    mlp_new(model, b, hidden);
}

ms_qwen_block *ms_qwen_blocks_new(ms_model *model, const ms_qwen_block_form *form, uint32_t parent,
                                  ms_dim hidden, const ms_qwen_places *places)
{
    uint64_t count = model->config->vision.num_layers;
    ms_qwen_block *blocks = ms_arena_array(model->arena, ms_qwen_block, count);
    if (!blocks)
        return NULL;
    uint32_t list = ms_scope_add(model->tape, parent, "blocks", MS_NONE);
    for (uint64_t i = 0; i < count && model->tape->status == MS_OK; i++) {
        blocks[i] = (ms_qwen_block){.model = model,
                                    .form = form,
                                    .scope = ms_qwen_numbered(model, list, i),
                                    .places = places};
        block_new(model, &blocks[i], hidden);
    }
    return blocks;
}

/* ---- forward ---- */

static ms_tensor gated(ms_model *model, const ms_qwen_block *b, ms_tensor x)
{
    ms_tape *tape = model->tape;
    ms_tensor gate =
        ms_activate(tape, model->config->vision.activation, ms_linear_call(model, &b->gate, x));
    ms_retain(tape, gate);
    ms_tensor up = ms_linear_call(model, &b->first, x);
    return ms_mul(tape, ms_unown(tape, gate), up);
}

static ms_tensor mlp(ms_model *model, const ms_qwen_block *b, ms_tensor x)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, b->mlp_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, x);
    ms_tensor middle = b->form->gate ? gated(model, b, *hidden)
                                     : ms_activate(tape, model->config->vision.activation,
                                                   ms_linear_call(model, &b->first, *hidden));
    ms_tensor *out = ms_local(&f, ms_linear_call(model, &b->last, middle));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

static ms_tensor run_block(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    (void)number;
    const ms_qwen_block *b = context;
    ms_model *model = b->model;
    uint32_t previous = ms_scope_enter(tape, b->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor attended = ms_qwen_attend(model, &b->attention, b->places,
                                        ms_qwen_norm_call(model, b->form, &b->norm1, *hidden));
    ms_assign(&f, hidden, ms_add(tape, *hidden, attended));
    ms_tensor changed = mlp(model, b, ms_qwen_norm_call(model, b->form, &b->norm2, *hidden));
    ms_assign(&f, hidden, ms_add(tape, *hidden, changed));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

/* gradient_checkpointing_enable() checkpoints the tower's blocks as well as the layers. */
ms_tensor ms_qwen_block_call(ms_qwen_block *b, ms_tensor hidden)
{
    const ms_qwen_places *places = b->places;
    const ms_region region = {
        .run = run_block, .context = b, .held = {places->ends, places->sin, places->cos}};
    return b->model->run->images.checkpoints ? ms_checkpoint_run(b->model->tape, &region, hidden)
                                             : run_block(b->model->tape, b, 0, hidden);
}
