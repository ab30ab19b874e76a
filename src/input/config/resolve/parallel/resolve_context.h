/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is not predicted with context parallelism.
 */
#ifndef MS_CONFIG_RESOLVE_RESOLVE_CONTEXT_H
#define MS_CONFIG_RESOLVE_RESOLVE_CONTEXT_H

#include "input/config/resolve/resolving.h"

/* Refuses it by name; without context parallelism nothing is refused. Call it when the types and
 * the options of the ranks are known. */
ms_status ms_resolve_context_parallel(const ms_resolving *c);

#endif
