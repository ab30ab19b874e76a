/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is not predicted with tensor parallelism.
 */
#ifndef MS_CONFIG_RESOLVE_RESOLVE_TENSOR_H
#define MS_CONFIG_RESOLVE_RESOLVE_TENSOR_H

#include "input/config/resolve/resolving.h"

/* Refuses what is not predicted with the layout's tensor parallelism, and its options without it.
 */
ms_status ms_resolve_tensor_parallel(const ms_resolving *c);

#endif
