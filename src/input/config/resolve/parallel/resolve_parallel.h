/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Settings of ranks that train together, and what is not predicted with them.
 */
#ifndef MS_INPUT_CONFIG_RESOLVE_PARALLEL_RESOLVE_PARALLEL_H
#define MS_INPUT_CONFIG_RESOLVE_PARALLEL_RESOLVE_PARALLEL_H

#include "input/config/resolve/resolving.h"

/* The type that the model computes with, before anything depends on it. */
ms_status ms_resolve_parallel_types(const ms_resolving *c);
ms_status ms_resolve_parallel(const ms_resolving *c);

#endif
