/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Masks and rotary tables of a decoder's layers.
 */
#ifndef MS_MODEL_DECODER_DECODER_TABLES_H
#define MS_MODEL_DECODER_DECODER_TABLES_H

#include "model/decoder/decoder.h"

/* The mask of a layer; 0: none. */
ms_tensor ms_decoder_mask(const ms_model *model, const ms_decoder *d, uint64_t layer);
/* The rotary tables of a layer. */
const ms_rotary *ms_decoder_rotary(const ms_model *model, const ms_decoder *d, uint64_t layer);

#endif
