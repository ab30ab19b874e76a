/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Head and loss.
 */
#ifndef MS_INPUT_CONFIG_RESOLVE_RESOLVE_LOSS_H
#define MS_INPUT_CONFIG_RESOLVE_RESOLVE_LOSS_H

#include "input/config/resolve/resolving.h"

ms_status ms_resolve_loss(const ms_resolving *c);

/* A head and loss that are not the model's own; after the layout and treatments. */
ms_status ms_resolve_own_loss(const ms_resolving *c);
/* What such a loss is not predicted with, as the end of a sentence; NULL: nothing of the model and
 * the layout. */
const char *ms_loss_not_with(const ms_model_config *model, const ms_run_config *run, ms_loss loss);
/* The loop around the step: a fixed batch stays where others are not predicted, with a note. After
 * layout and images. */
ms_status ms_resolve_loop(const ms_resolving *c);

#endif
