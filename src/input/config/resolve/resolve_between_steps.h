/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Settings of the time between steps: evaluation, emptying the cache.
 */
#ifndef MS_INPUT_CONFIG_RESOLVE_RESOLVE_BETWEEN_STEPS_H
#define MS_INPUT_CONFIG_RESOLVE_RESOLVE_BETWEEN_STEPS_H

#include "input/config/resolve/resolving.h"

ms_status ms_resolve_between_steps(const ms_resolving *c);

#endif
