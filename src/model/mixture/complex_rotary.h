/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rotary embeddings as products of complex numbers.
 */
#ifndef MS_MODEL_MIXTURE_COMPLEX_ROTARY_H
#define MS_MODEL_MIXTURE_COMPLEX_ROTARY_H

#include "model/blocks/model.h"

/* out[0]: the positions' turns, [1, S, D / 2] of complex numbers; out[1]: 0. */
void ms_complex_rotary_tables(ms_model *model, uint32_t scope, ms_tensor inv_freq,
                              ms_tensor position_ids, ms_dtype dtype, ms_tensor out[2]);
/* view_as_complex of neighbours in fp32: [.., D] to [.., D / 2] */
ms_tensor ms_as_complex(ms_tape *tape, ms_tensor x);
/* view_as_real(x * turns).flatten(3): [.., D / 2] to [.., D] of fp32 */
ms_tensor ms_turn_pairs(ms_tape *tape, ms_tensor x, ms_tensor turns);
/* The same, type_as(like) */
ms_tensor ms_turn_complex(ms_tape *tape, ms_tensor x, ms_tensor turns, ms_tensor like);

#endif
