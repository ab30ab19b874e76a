/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checks the options of fully_shard and FullyShardedDataParallel.
 */
#ifndef MS_CONFIG_RESOLVE_RESOLVE_FSDP_H
#define MS_CONFIG_RESOLVE_RESOLVE_FSDP_H

#include "input/config/resolve/resolving.h"

/* Refuses what is not predicted, by the name of the option. After the layout is checked; does
 * nothing for other layouts. */
ms_status ms_resolve_fsdp(const ms_resolving *c);

#endif
