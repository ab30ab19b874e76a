/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How the base is stored.
 */
#ifndef MS_INPUT_CONFIG_RESOLVE_RESOLVE_QUANTIZATION_H
#define MS_INPUT_CONFIG_RESOLVE_RESOLVE_QUANTIZATION_H

#include "input/config/resolve/resolving.h"

ms_status ms_resolve_quantization(const ms_resolving *c);

#endif
