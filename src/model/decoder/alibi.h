/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ALiBi: biases of attention that grow with the distance, in place of rotary embeddings.
 */
#ifndef MS_MODEL_DECODER_ALIBI_H
#define MS_MODEL_DECODER_ALIBI_H

#include "model/blocks/model.h"

/* The slopes of ALiBi, one per head, fp32: powers of a base; heads beyond a power of two have a
 * base of their own. Binds what it makes; returns the local. */
ms_tensor *ms_alibi_slopes(ms_model *model, ms_locals *f);

#endif
