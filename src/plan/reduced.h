/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A model with few layers that stands for one with many.
 */
#ifndef MS_PLAN_REDUCED_H
#define MS_PLAN_REDUCED_H

#include "config/model_config.h"

/* Of each kind of layer the first two and the last two, which may be special, and one that stands
 * for those between. */
ms_model_config ms_model_reduce(const ms_model_config *model);

/* The layer of the reduced model that stands for `layer`. */
uint64_t ms_model_reduced_layer(const ms_model_config *model, uint64_t layer);

#endif
