/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/dense/gemma3n/layer.h"

#include "input/config/model/model_config.h"
#include "model/decoder/decoder_layer.h"
#include "model/dense/gemma3n/altup.h"
#include "model/dense/gemma4/attention.h"
#include "torch/ops/ops.h"
#include "torch/ops/parts.h"

bool ms_gemma3n_layer_new(ms_model *model, ms_decoder *d, ms_decoder_layer *layer)
{
    const ms_gemma3n *g = d->own;
    ms_gemma3n_layer *l = &g->of_layers[layer->number];
    ms_dim hidden = model->hidden;
    uint32_t scope = layer->scope;
    ms_altup_new(model, &l->altup, scope);
    uint32_t laurel = l->laurel_scope = ms_scope_add(model->tape, scope, "laurel", MS_NONE);
    l->laurel_left = ms_linear_new(model, laurel, "linear_left", hidden, g->rank, false);
    l->laurel_right = ms_linear_new(model, laurel, "linear_right", g->rank, hidden, false);
    l->laurel_norm = ms_norm_new(model, laurel, "post_laurel_norm", hidden, false);
    l->input_gate = ms_linear_new(model, scope, "per_layer_input_gate", hidden, g->width, false);
    l->projection = ms_linear_new(model, scope, "per_layer_projection", g->width, hidden, false);
    l->input_norm = ms_norm_new(model, scope, "post_per_layer_input_norm", hidden, false);
    return true;
}

/* hidden + norm(right(left(hidden))) */
static ms_tensor run_laurel(ms_model *model, const ms_gemma3n_layer *l, ms_tensor hidden)
{
    ms_tape *tape = model->tape;
    uint32_t previous = ms_scope_enter(tape, l->laurel_scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *branch = ms_local(&f, ms_linear_call(model, &l->laurel_left, hidden));
    ms_assign(&f, branch, ms_linear_call(model, &l->laurel_right, *branch));
    ms_tensor *normed = ms_local(&f, ms_gemma4_norm(model, &l->laurel_norm, *branch));
    ms_tensor *out = ms_local(&f, ms_add(tape, hidden, *normed));
    ms_tensor result = ms_locals_end(&f, out);
    tape->scope = previous;
    return result;
}

/* The streams but the first: [N - 1, B, S, H]. */
static ms_strided later_streams(ms_model *model, ms_tensor streams)
{
    ms_tape *tape = model->tape;
    ms_strided view = {0};
    if (ms_idle(tape) || !streams)
        return view;
    const ms_tensor_info info = *ms_info(tape, streams);
    view.shape = info.shape;
    view.shape.dims[0] = ms_dim_number(&tape->trace->symbols, info.shape.dims[0].value - 1);
    for (uint32_t i = 0; i < info.shape.rank; i++)
        view.strides[i] = info.strides[i];
    return view;
}

/* What the layer's own embedding of the tokens makes of the corrected first stream. */
static void read_input(ms_model *model, ms_locals *f, const ms_gemma3n_layer *l,
                       ms_tensor corrected, ms_tensor *first)
{
    ms_tape *tape = model->tape;
    ms_assign(f, first, ms_clone(tape, ms_select(tape, corrected, 0)));
    if (model->config->scales_corrected)
        ms_assign(f, first, ms_mul(tape, *first, l->altup.scale));
    ms_assign(f, first, ms_linear_call(model, &l->input_gate, *first));
    ms_assign(f, first, ms_activation_call(model, *first));
    ms_assign(f, first, ms_mul(tape, *first, l->input));
    ms_assign(f, first, ms_linear_call(model, &l->projection, *first));
    ms_assign(f, first, ms_gemma4_norm(model, &l->input_norm, *first));
}

/* corrected[1:] += first: Python adds in place, and then assigns the part to itself. */
static void add_to_later(ms_model *model, ms_locals *f, ms_tensor *corrected, ms_tensor first)
{
    ms_tape *tape = model->tape;
    const ms_strided view = later_streams(model, *corrected);
    ms_assign(f, corrected, ms_add_to_part(tape, *corrected, &view, first));
    ms_assign(f, corrected, ms_copy_into(tape, *corrected, ms_part_of(tape, *corrected, &view)));
}

ms_tensor ms_gemma3n_layer_run(ms_tape *tape, void *context, uint64_t number, ms_tensor streams)
{
    ms_model *model = context;
    const ms_gemma3n_layer *own = &ms_gemma3n_of(model)->of_layers[number];
    const ms_decoder_layer *l = &((ms_decoder *)model->modules)->layers[number];
    uint32_t previous = ms_scope_enter(tape, l->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *whole = ms_argument(&f, streams);
    ms_tensor *predictions = ms_local(&f, ms_altup_predict(model, &own->altup, *whole));
    ms_tensor *active = ms_local(&f, ms_select(tape, *predictions, 0));
    ms_tensor *normed = ms_local(&f, ms_norm_at(model, l, MS_NORM_BEFORE_ATTENTION, *active));
    ms_tensor *laurel = ms_local(&f, run_laurel(model, own, *normed));
    ms_tensor *attended = ms_local(&f, 0);
    ms_assign(&f, attended, ms_layer_attention(model, l, &f, *normed));
    ms_assign(&f, attended, ms_norm_at(model, l, MS_NORM_AFTER_ATTENTION, *attended));
    ms_tensor *gated = ms_local(&f, ms_add(tape, *active, *attended));
    ms_tensor *both = ms_local(&f, ms_div_scalar(tape, ms_add(tape, *gated, *laurel)));
    ms_tensor *norm = ms_local(&f, ms_norm_at(model, l, MS_NORM_BEFORE_MLP, *both));
    ms_tensor *forwarded = ms_local(&f, ms_layer_mlp(model, l, *norm));
    ms_tensor *norm_after = ms_local(&f, ms_norm_at(model, l, MS_NORM_AFTER_MLP, *forwarded));
    ms_tensor *activated = ms_local(&f, ms_add(tape, *both, *norm_after));
    ms_tensor *corrected =
        ms_local(&f, ms_altup_correct(model, &own->altup, *predictions, *activated));
    ms_tensor *first = ms_local(&f, 0);
    read_input(model, &f, own, *corrected, first);
    add_to_later(model, &f, corrected, *first);
    ms_tensor result = ms_locals_end(&f, corrected);
    tape->scope = previous;
    return result;
}
