/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Linear layers of Gemma 4's towers (Gemma4ClippableLinear): what goes in and what comes out may be
 * clamped by buffers of one element.
 */
#ifndef MS_MODEL_DENSE_GEMMA4_BOUNDED_H
#define MS_MODEL_DENSE_GEMMA4_BOUNDED_H

#include "model/blocks/blocks.h"

enum { MS_BOUNDS = 4 };

typedef struct ms_bounded_linear {
    uint32_t scope;
    ms_linear_module linear;
    ms_tensor bounds[MS_BOUNDS]; /* scalar buffers: least and most of the input, and of the output;
                                    0: none */
} ms_bounded_linear;

/* A module `name` with a layer "linear" without a bias, and with buffers if `has_bounds`. */
ms_bounded_linear ms_bounded_linear_new(ms_model *model, uint32_t parent, const char *name,
                                        ms_dim in, ms_dim out, bool has_bounds);

/* Runs it. */
ms_tensor ms_bounded_linear_call(ms_model *model, const ms_bounded_linear *module, ms_tensor x);

#endif
