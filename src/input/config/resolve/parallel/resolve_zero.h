/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is not predicted with DeepSpeed ZeRO.
 */
#ifndef MS_CONFIG_RESOLVE_RESOLVE_ZERO_H
#define MS_CONFIG_RESOLVE_RESOLVE_ZERO_H

#include "input/config/resolve/resolving.h"

/* What is not predicted with the run's stage, as "with ..."; NULL: all of it is. */
const char *ms_unsupported_by_zero(const ms_resolving *c);

/* Stage 3 divides a base that is packed: from_pretrained() has built it without zero.Init, which
 * this sets. MS_ERR_USAGE where such a base is not predicted. */
ms_status ms_resolve_packed_zero3(const ms_resolving *c);

#endif
