/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/vision/qwen/patches.h"

#include "input/config/model/model_config.h"
#include "model/blocks/blocks.h"
#include "torch/ops/ops.h"

/* ---- construction ---- */

ms_qwen_projection ms_qwen_projection_new(ms_model *model, uint32_t parent, ms_dim hidden,
                                          bool has_bias)
{
    ms_symbols *s = &model->tape->trace->symbols;
    const ms_vision_config *vision = &model->config->vision;
    ms_dim side = ms_dim_number(s, vision->patch_size);
    ms_shape shape = MS_SHAPE(hidden, ms_dim_number(s, vision->channels),
                              ms_dim_number(s, vision->frames), side, side);
    uint32_t outer = ms_scope_add(model->tape, parent, "patch_embed", MS_NONE);
    ms_qwen_projection p = {.scope = ms_scope_add(model->tape, outer, "proj", MS_NONE)};
    p.weight = ms_parameter_new(model, p.scope, "weight", shape);
    if (has_bias)
        p.bias = ms_parameter_new(model, p.scope, "bias", MS_SHAPE(hidden));
    return p;
}

ms_qwen_rotary ms_qwen_rotary_new(ms_model *model, uint32_t parent)
{
    const ms_vision_config *vision = &model->config->vision;
    uint64_t half = vision->hidden_size / vision->num_heads / 2;
    ms_shape shape = MS_SHAPE(ms_dim_number(&model->tape->trace->symbols, (half + 1) / 2));
    ms_qwen_rotary r = {.scope = ms_scope_add(model->tape, parent, "rotary_pos_emb", MS_NONE)};
    uint32_t previous = ms_scope_enter(model->tape, r.scope);
    r.inv_freq = ms_buffer_new(model, shape, MS_DTYPE_F32, "inv_freq");
    ms_buffer_new(model, shape, MS_DTYPE_F32, "inv_freq");
    model->tape->scope = previous;
    return r;
}

/* ---- of the tower ---- */

/* Twice the angles by rows and by columns. */
static ms_tensor recomposed(ms_tape *tape, ms_tensor angles)
{
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *input = ms_argument(&f, angles);
    ms_tensor *by_rows = ms_local(&f, ms_select(tape, *input, 1));
    ms_tensor *by_columns = ms_local(&f, ms_select(tape, *input, 1));
    ms_tensor *both = ms_local(&f, ms_cat2(tape, *by_rows, *by_columns, 1));
    ms_tensor *out = ms_local(&f, ms_cat2(tape, *both, *both, 1));
    return ms_locals_end(&f, out);
}

void ms_qwen_tables(ms_model *model, const ms_qwen_rotary *rotary, ms_tensor positions,
                    ms_tensor out[2])
{
    ms_tape *tape = model->tape;
    bool grad_enabled = tape->grad_enabled;
    uint32_t previous = ms_scope_enter(tape, rotary->scope);
    tape->grad_enabled = false;
    ms_locals f = ms_locals_begin(tape);
    ms_tensor wide = ms_to(tape, ms_unsqueeze(tape, positions, 2), MS_DTYPE_F32);
    ms_tensor frequencies = ms_to(tape, rotary->inv_freq, MS_DTYPE_F32);
    ms_tensor *angles = ms_local(&f, ms_mul(tape, wide, frequencies));
    ms_tensor *cos = ms_local(&f, ms_mul_scalar(tape, ms_cos(tape, *angles)));
    ms_tensor *sin = ms_local(&f, ms_mul_scalar(tape, ms_sin(tape, *angles)));
    ms_assign(&f, cos, recomposed(tape, *cos));
    ms_assign(&f, sin, recomposed(tape, *sin));
    ms_return_both(&f, *cos, *sin, out);
    tape->grad_enabled = grad_enabled;
    tape->scope = previous;
}

ms_tensor ms_qwen_project(ms_model *model, const ms_qwen_projection *module, ms_tensor pixels)
{
    ms_tape *tape = model->tape;
    if (ms_idle(tape))
        return 0;
    const ms_shape kernel = ms_info(tape, module->weight)->shape;
    ms_dim one = {.value = 1}, patches = ms_info(tape, pixels)->shape.dims[0];
    uint32_t previous = ms_scope_enter(tape, module->scope);
    ms_locals f = ms_locals_begin(tape);
    ms_tensor *hidden = ms_argument(&f, pixels);
    ms_assign(
        &f, hidden,
        ms_view(tape, *hidden,
                MS_SHAPE(patches, kernel.dims[1], kernel.dims[2], kernel.dims[3], kernel.dims[4])));
    ms_tensor image = ms_to(tape, *hidden, (ms_dtype)ms_info(tape, module->weight)->dtype);
    ms_tensor made = ms_patches(tape, image, module->weight, module->bias, one, one);
    ms_assign(&f, hidden, ms_view(tape, made, MS_SHAPE(patches, kernel.dims[0])));
    ms_tensor result = ms_locals_end(&f, hidden);
    tape->scope = previous;
    return result;
}

ms_tensor ms_qwen_ends(ms_tape *tape, uint64_t count)
{
    return ms_empty(tape, MS_SHAPE(ms_dim_number(&tape->trace->symbols, count)), MS_DTYPE_I32);
}
