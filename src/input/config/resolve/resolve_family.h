/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What of a run is not predicted for a family, as the family's row lists it.
 */
#ifndef MS_INPUT_CONFIG_RESOLVE_RESOLVE_FAMILY_H
#define MS_INPUT_CONFIG_RESOLVE_RESOLVE_FAMILY_H

#include "input/config/resolve/resolving.h"

/* Refuses a run that asks for what the family's `unpredicted` names, in one sentence. */
ms_status ms_resolve_family(const ms_resolving *c);

#endif
