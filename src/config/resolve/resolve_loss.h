/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Head and loss.
 */
#ifndef MS_CONFIG_RESOLVE_RESOLVE_LOSS_H
#define MS_CONFIG_RESOLVE_RESOLVE_LOSS_H

#include "config/resolve/resolving.h"

ms_status ms_resolve_loss(const ms_resolving *c);

/* A head of TRL's; after the layout and treatments. */
ms_status ms_resolve_trl_loss(const ms_resolving *c);
/* The loop around the step: a fixed batch stays where others are not predicted, with a note. After
 * layout and images. */
ms_status ms_resolve_loop(const ms_resolving *c);

#endif
