/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Head and loss.
 */
#ifndef MS_CONFIG_RESOLVE_RESOLVE_LOSS_H
#define MS_CONFIG_RESOLVE_RESOLVE_LOSS_H

#include "config/resolve/resolving.h"

ms_status ms_resolve_loss(const ms_resolving *c);

#endif
