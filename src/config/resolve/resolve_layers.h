/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How layers are treated.
 */
#ifndef MS_CONFIG_RESOLVE_RESOLVE_LAYERS_H
#define MS_CONFIG_RESOLVE_RESOLVE_LAYERS_H

#include "config/resolve/resolving.h"

/* The treatments of `checkpointing` and `treat` together, and whether model and run allow them. */
ms_status ms_resolve_layers(const ms_resolving *c);
ms_status ms_resolve_treatments(const ms_resolving *c);

#endif
