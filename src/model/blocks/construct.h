/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Constructors of modules, with the order and the temporaries of the framework's: they determine
 * where the allocator places tensors.
 */
#ifndef MS_MODEL_BLOCKS_CONSTRUCT_H
#define MS_MODEL_BLOCKS_CONSTRUCT_H

#include "input/config/run/liger.h"
#include "model/blocks/model.h"

typedef struct ms_norm_module {
    uint32_t scope;
    ms_tensor weight, bias;
    ms_liger_norm place; /* for Liger, which replaces only some norms */
} ms_norm_module;

ms_linear_module ms_linear_new(ms_model *model, uint32_t parent, const char *name, ms_dim in,
                               ms_dim out, bool bias);
ms_linear_module ms_conv1d_new(ms_model *model, uint32_t parent, const char *name, ms_dim in,
                               ms_dim out);
ms_norm_module ms_norm_new(ms_model *model, uint32_t parent, const char *name, ms_dim width,
                           bool bias);
/* torch.nn.LayerNorm, which may be without a bias. */
ms_norm_module ms_layer_norm_new(ms_model *model, uint32_t parent, const char *name, ms_dim width,
                                 bool bias);
/* The same with a weight of a shape other than [width]. */
ms_norm_module ms_shaped_norm_new(ms_model *model, uint32_t parent, const char *name,
                                  ms_shape shape, bool bias);
/* The weight of a norm, in the scope of the norm itself. */
ms_tensor ms_norm_weight_new(ms_model *model, uint32_t scope, const char *name, ms_dim width);
ms_tensor ms_embedding_new(ms_model *model, uint32_t parent, const char *name, ms_dim rows,
                           ms_dim width);
/* The output head, as wide as `embedding`; a tied head's own weight is created and dropped at once.
 */
ms_linear_module ms_head_named(ms_model *model, ms_tensor embedding, const char *name);
/* 1 / theta ** (arange(0, R, 2) / R), floating; `count` is R / 2. */
ms_tensor ms_inverse_frequencies(ms_model *model, ms_dim count);
/* The same of arange's floats of that shape, which are consumed. */
ms_tensor ms_inverse_powers(ms_model *model, ms_shape shape, ms_tensor places);
/* A buffer of a module on the device. */
/* A tensor that was made becomes a buffer. */
ms_tensor ms_buffer_of(ms_model *model, ms_tensor tensor, const char *name);
ms_tensor ms_buffer_new(ms_model *model, ms_shape shape, ms_dtype dtype, const char *name);
/* Creates, for each table of a rotary embedding, buffers of inverse frequencies and of their copy.
 */
void ms_rotary_new(ms_model *model, uint32_t parent, uint32_t tables, ms_tensor *inv_freq,
                   ms_tensor *originals);

#endif
