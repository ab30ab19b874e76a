/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/translation/translation.h"

#include "input/config/model/model_config.h"
#include "model/encoder/encoder.h"
#include "torch/ops/ops.h"

ms_tensor ms_shifted_labels(ms_model *model)
{
    ms_tape *tape = model->tape;
    ms_symbols *s = &tape->trace->symbols;
    ms_shape shape = MS_SHAPE(model->batch, model->seq), shorter = shape;
    shorter.dims[1] = ms_dim_rest(s, model->seq, ms_dim_number(s, 1));
    ms_tensor ids = ms_empty(tape, shape, MS_DTYPE_I64);
    ms_consume(tape, ms_empty(tape, shorter, MS_DTYPE_I64));
    ms_consume(tape, ms_empty(tape, shape, MS_DTYPE_BOOL));
    return ids;
}

void ms_translation_end(ms_model *model, ms_locals *f, const ms_linear_module *head,
                        const ms_tensor *output, const ms_model_inputs *in, ms_model_outputs *out)
{
    ms_tape *tape = model->tape;
    ms_tensor *logits = ms_local(f, ms_linear_call(model, head, *output));
    if (in->keeps_hidden)
        out->hidden = ms_hand_out(tape, *output);
    if (in->keeps_logits || !in->labels)
        out->logits = ms_hand_out(tape, *logits);
    ms_tensor *loss =
        ms_local(f, in->labels ? ms_words_loss(model, *logits, model->class_labels) : 0);
    ms_forward_end(f, loss, out);
}

uint32_t ms_translation_layers(const ms_model *model, uint8_t kind)
{
    uint32_t count = 0;
    for (uint64_t i = 0; i < model->config->num_layers; i++)
        count += ms_layer_kind(model->config, i) == kind;
    return count;
}

uint8_t ms_translation_kind(const ms_model_config *config, uint64_t layer)
{
    return layer < config->encoder_layers ? 0 : MS_LAYER_DECODES;
}
