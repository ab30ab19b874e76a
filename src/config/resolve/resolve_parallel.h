/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Settings of ranks that train together, and what is not predicted with them.
 */
#ifndef MS_CONFIG_RESOLVE_RESOLVE_PARALLEL_H
#define MS_CONFIG_RESOLVE_RESOLVE_PARALLEL_H

#include "config/resolve/resolving.h"

/* The type that the model computes with, before anything depends on it. */
ms_status ms_resolve_parallel_types(const ms_resolving *c);
ms_status ms_resolve_parallel(const ms_resolving *c);

/* What sharding makes of an adapter, which is gathered with its layer in one type; refuses others.
 */
ms_status ms_resolve_sharded_adapter(const ms_parallel *parallel, ms_adapter *adapter,
                                     ms_error *err);

/* The same for ZeRO-3, which divides an adapter with the model. */
ms_status ms_resolve_zero3_adapter(const ms_run_config *run, const ms_model_config *model,
                                   const ms_adapter *adapter, ms_error *err);

#endif
