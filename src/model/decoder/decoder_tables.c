/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/decoder/decoder_tables.h"

#include "input/config/model/model_config.h"

ms_tensor ms_decoder_mask(const ms_model *model, const ms_decoder *d, uint64_t layer)
{
    return ms_layer_slides(model->config, layer) ? d->sliding_mask : d->full_mask;
}

const ms_rotary *ms_decoder_rotary(const ms_model *model, const ms_decoder *d, uint64_t layer)
{
    return &d->rotary[d->style.rotary_by_kind && ms_layer_slides(model->config, layer)];
}
