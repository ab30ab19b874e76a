/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/recurrent/mamba_model.h"

#include <inttypes.h>
#include <stdio.h>

#include "input/config/model/model_config.h"
#include "torch/ops/ops.h"

typedef struct mamba_layer {
    uint32_t scope;
    ms_norm_module norm;
    void *mixer;
} mamba_layer;

typedef struct mamba_model {
    const ms_mixer_kind *kind;
    uint32_t scope, embedding_scope;
    ms_tensor embedding;
    mamba_layer *layers;
    ms_norm_module norm;
    ms_linear_module head;
} mamba_model;

/* ---- construction ---- */

ms_tensor ms_in_fp32(ms_tape *tape, ms_tensor x)
{
    return ms_idle(tape) || !x ? 0 : ms_to(tape, x, MS_DTYPE_F32);
}

bool ms_mamba_build(ms_model *model, const ms_mixer_kind *kind)
{
    ms_tape *tape = model->tape;
    const uint64_t count = model->config->num_layers;
    mamba_model *m = ms_arena_array(model->arena, mamba_model, 1);
    mamba_layer *layers = ms_arena_array(model->arena, mamba_layer, count);
    if (!m || !layers)
        return false;
    model->modules = m;
    model->scale_logits = ms_in_fp32;
    *m = (mamba_model){.kind = kind, .layers = layers};
    m->scope = ms_scope_add(tape, MS_NONE, "backbone", MS_NONE);
    m->embedding = ms_embedding_new(model, m->scope, "embeddings", model->vocab, model->hidden);
    m->embedding_scope = tape->trace->scopes.count - 1;
    uint32_t parent = ms_scope_add(tape, m->scope, "layers", MS_NONE);
    for (uint32_t i = 0; i < count && tape->status == MS_OK; i++) {
        char name[16];
        snprintf(name, sizeof name, "%" PRIu32, i);
        layers[i].scope = ms_scope_add(tape, parent, name, i);
        layers[i].norm = ms_norm_new(model, layers[i].scope, "norm", model->hidden, false);
        layers[i].mixer = kind->build(model, layers[i].scope);
        if (!layers[i].mixer)
            return false;
    }
    m->norm = ms_norm_new(model, m->scope, "norm_f", model->hidden, false);
    m->head = ms_head_new(model, m->embedding);
    return true;
}

/* ---- forward ---- */

ms_tensor *ms_argument_in(ms_locals *f, ms_tensor x, ms_tensor like)
{
    ms_tape *tape = f->tape;
    return ms_local(f, ms_idle(tape) ? 0 : ms_to(tape, x, (ms_dtype)ms_info(tape, like)->dtype));
}

static ms_tensor run_layer(ms_tape *tape, void *context, uint64_t number, ms_tensor input)
{
    ms_model *model = context;
    const mamba_model *m = model->modules;
    const mamba_layer *l = &m->layers[number];
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, input);
    ms_tensor *residual = ms_local(&f, *hidden);
    ms_locals call = ms_locals_begin(tape);
    ms_tensor *cast = ms_argument_in(&call, *hidden, l->norm.weight);
    ms_assign(&f, hidden, ms_rms_norm_call(model, &l->norm, *cast));
    ms_locals_end(&call, NULL);
    if (model->config->residual_in_fp32 && !ms_idle(tape))
        ms_assign(&f, residual, ms_to(tape, *residual, MS_DTYPE_F32));
    ms_assign(&f, hidden, m->kind->call(model, l->mixer, *hidden));
    ms_assign(&f, hidden, ms_idle(tape) ? 0 : ms_add(tape, *residual, *hidden));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

static ms_tensor run_backbone(ms_model *model, const mamba_model *m, ms_tensor ids)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, m->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *embeds =
        ms_local(&f, ms_input_embedding(model, m->embedding_scope, m->embedding, 0, ids));
    ms_tensor *hidden = ms_local(&f, *embeds);
    for (uint32_t i = 0; i < model->config->num_layers && tape->status == MS_OK; i++) {
        const ms_region region = {.run = run_layer, .context = model, .number = i};
        ms_assign(&f, hidden, ms_layer_call(model, &region, *hidden));
    }
    ms_assign(&f, hidden, ms_rms_norm_call(model, &m->norm, *hidden));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

void ms_mamba_forward(ms_model *model, const ms_model_inputs *in, ms_model_outputs *out)
{
    ms_tape *tape = model->tape;
    const mamba_model *m = model->modules;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_local(&f, run_backbone(model, m, in->ids));
    ms_dtype dtype = ms_idle(tape) ? MS_DTYPE_F32 : (ms_dtype)ms_info(tape, m->embedding)->dtype;
    ms_tensor cast = ms_idle(tape) ? 0 : ms_to(tape, *hidden, dtype);
    ms_tensor *loss = ms_head_call(model, &f, &m->head, cast, in, out);
    ms_forward_end(&f, loss, out);
}
