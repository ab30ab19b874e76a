/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How layers are treated.
 */
#ifndef MS_CONFIG_RUN_RESOLVE_LAYERS_H
#define MS_CONFIG_RUN_RESOLVE_LAYERS_H

#include "config/run/resolving.h"

/* What `checkpointing` and `treat` come to; then whether it can be done to this model and run. */
ms_status ms_resolve_layers(const ms_resolving *c);
ms_status ms_resolve_treatments(const ms_resolving *c);

#endif
