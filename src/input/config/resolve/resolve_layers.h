/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Treatments of layers.
 */
#ifndef MS_INPUT_CONFIG_RESOLVE_RESOLVE_LAYERS_H
#define MS_INPUT_CONFIG_RESOLVE_RESOLVE_LAYERS_H

#include "input/config/resolve/resolving.h"

/* Combines `checkpointing` and `treat`, and checks that model and run allow the treatments. */
ms_status ms_resolve_layers(const ms_resolving *c);
ms_status ms_resolve_treatments(const ms_resolving *c);

#endif
