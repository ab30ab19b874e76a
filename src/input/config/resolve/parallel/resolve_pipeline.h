/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is not predicted with pipeline parallelism.
 */
#ifndef MS_CONFIG_RESOLVE_RESOLVE_PIPELINE_H
#define MS_CONFIG_RESOLVE_RESOLVE_PIPELINE_H

#include "input/config/resolve/resolving.h"

/* The micro-batches of the layout are those of the step, and the other way round. */
ms_status ms_resolve_micro_batches(const ms_resolving *c);
/* Refuses what is not predicted with the layout's stages; with fully_shard, sets how the schedules
 * call it. Without stages it does nothing. */
ms_status ms_resolve_pipeline(const ms_resolving *c);

#endif
