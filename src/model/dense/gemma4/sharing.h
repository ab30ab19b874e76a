/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which of Gemma's layers read the keys and values of earlier ones.
 */
#ifndef MS_MODEL_DENSE_GEMMA4_SHARING_H
#define MS_MODEL_DENSE_GEMMA4_SHARING_H

#include "model/blocks/model.h"

/* What a layer stores for later ones of its kind: see ms_gemma4_shared_row. */
enum { MS_GEMMA4_VALUE, MS_GEMMA4_KEY, MS_GEMMA4_KEYS };

/* The items of model->shared that layers of the layer's kind share: value and key, as a tuple drops
 * its last item first; the kind that is stored first has the first ones. */
ms_tensor *ms_gemma4_shared_row(ms_model *model, uint64_t layer);
/* A container for what layers share in this pass. */
void ms_gemma4_begin_sharing(ms_model *model);

#endif
