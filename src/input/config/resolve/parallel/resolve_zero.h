/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is not predicted with DeepSpeed ZeRO, and what stage 3 knows of types of models.
 */
#ifndef MS_CONFIG_RESOLVE_RESOLVE_ZERO_H
#define MS_CONFIG_RESOLVE_RESOLVE_ZERO_H

#include "input/config/resolve/resolving.h"

/* What is not predicted with the run's stage, as "with ..."; NULL: all of it is. The caller says
 * whether a loss has no gradient for some trained parameters. */
const char *ms_unsupported_by_zero(const ms_resolving *c, bool has_idle_parameters);

/* Stage 3 divides a base that is packed: from_pretrained() has built it without zero.Init, which
 * this sets. MS_ERR_USAGE where such a base is not predicted. */
ms_status ms_resolve_packed_zero3(const ms_resolving *c);

/* Whether DeepSpeed has the class of the model's blocks of experts in its list of leaf modules. */
bool ms_zero3_has_leaf_blocks(const ms_model_config *model);

#endif
