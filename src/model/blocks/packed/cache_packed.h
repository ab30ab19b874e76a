/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Layers of a cache that keeps keys and values packed (transformers 5.23, cache_utils.py:
 * QuantoQuantizedLayer with optimum-quanto 0.2.7, Fp8QuantizedLayer).
 */
#ifndef MS_MODEL_BLOCKS_CACHE_PACKED_H
#define MS_MODEL_BLOCKS_CACHE_PACKED_H

#include "model/blocks/cache.h"

/* Whether attention keeps keys and values that can be packed so; MS_ERR_CONFIG. */
ms_status ms_cache_packed_check(const ms_model *model, const ms_cache_packing *packing,
                                ms_error *err);

/* Yields all that attention sees, held by the caller. */
void ms_cache_packed_append(ms_model *model, uint64_t layer, ms_tensor key, ms_tensor value,
                            ms_tensor all[2]);

#endif
