/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What encoders with decoders share: the decoder's tokens, made from the labels, and the end of a
 * forward pass.
 */
#ifndef MS_MODEL_TRANSLATION_TRANSLATION_H
#define MS_MODEL_TRANSLATION_TRANSLATION_H

#include "model/blocks/blocks.h"

/* The labels shifted to the right, [B, S] of int64, floating: zeros, into which all but the last
 * are copied; what is ignored becomes padding. */
ms_tensor ms_shifted_labels(ms_model *model);

/* Runs the head on `output`, a local of `f`, hands out what is asked for, makes the loss of the
 * model's class_labels, and ends the frame. */
void ms_translation_end(ms_model *model, ms_locals *f, const ms_linear_module *head,
                        const ms_tensor *output, const ms_model_inputs *in, ms_model_outputs *out);

/* The layers of the kind: a reduced model has fewer than its config says. */
uint32_t ms_translation_layers(const ms_model *model, uint8_t kind);

/* MS_LAYER_DECODES behind the config's encoder_layers. */
uint8_t ms_translation_kind(const ms_model_config *config, uint64_t layer);

#endif
