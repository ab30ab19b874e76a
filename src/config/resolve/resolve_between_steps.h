/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Settings of the time between steps: evaluation, emptying the cache.
 */
#ifndef MS_CONFIG_RESOLVE_RESOLVE_BETWEEN_STEPS_H
#define MS_CONFIG_RESOLVE_RESOLVE_BETWEEN_STEPS_H

#include "config/resolve/resolving.h"

ms_status ms_resolve_between_steps(const ms_resolving *c);

/* Fails if the run has an evaluation between steps, which plans do not support. */
ms_status ms_evaluation_refuse(const ms_run_config *run, ms_error *err);

#endif
