/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/run/treated_layer.h"

#include "input/config/model/model_config.h"

bool ms_layers_share_states(const ms_model_config *model)
{
    return model->layer_input_size > 0 || model->sharing_layers > 0;
}

ms_treated_layer ms_treated_layer_of(const ms_model_config *model, const ms_run_config *run,
                                     uint64_t layer)
{
    const ms_family *family = model->family;
    return (ms_treated_layer){
        .model_type = family->model_type,
        .on_cpu = run->device->is_cpu,
        .is_sparse = (ms_layer_kind(model, layer) & MS_LAYER_SPARSE) != 0,
        .has_no_mlp_module = family->has_no_mlp_module,
        .has_sinks = family->has_sinks,
        .may_be_padded = ms_may_be_padded(run),
        .shares_biases = model->is_encoder_decoder,
        .has_plain_attention = !family->always_masks && !family->is_bidirectional &&
                               !family->has_no_attention && !family->has_lone_mixers,
        .shares_states = ms_layers_share_states(model),
        .is_reentrant = run->checkpoint_kind == MS_CHECKPOINT_REENTRANT,
        .only_non_reentrant = (family->unpredicted & MS_UNPREDICTED_REENTRANT) != 0,
        .steps_in_backward = run->training.optimizer_in_backward,
    };
}
