/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/blocks/linear.h"

#include "model/blocks/host/host_modules.h"
#include "model/blocks/packed/quantized.h"
#include "torch/ops/ops.h"

ms_tensor ms_base_call(ms_model *model, const ms_leaf_module *leaf, const ms_linear_module *module,
                       ms_tensor x, ms_linear_fn linear)
{
    if (leaf && leaf->quantized)
        return ms_quantized_call(model, leaf->quantized, module, x);
    return linear(model->tape, x, module->weight, module->bias);
}

ms_tensor ms_linear_call_by(ms_model *model, const ms_linear_module *module, ms_tensor x,
                            ms_linear_fn linear)
{
    const ms_leaf_module *leaf = ms_model_leaf(model, module->scope);
    uint32_t previous = ms_scope_enter(model->tape, module->scope);
    const ms_fetched fetched = ms_host_fetch_pair(model, module->weight, module->bias);
    ms_tensor out = leaf && leaf->call ? leaf->call(model, leaf, module, x, linear)
                                       : ms_base_call(model, leaf, module, x, linear);
    ms_host_drop(model, &fetched);
    model->tape->scope = previous;
    return out;
}

ms_tensor ms_linear_call(ms_model *model, const ms_linear_module *module, ms_tensor x)
{
    return ms_linear_call_by(model, module, x, ms_linear);
}

ms_tensor ms_conv1d_call(ms_model *model, const ms_linear_module *module, ms_tensor x)
{
    return ms_linear_call_by(model, module, x, ms_conv1d);
}
