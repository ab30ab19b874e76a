/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Padded batches: whether this run may have them.
 */
#ifndef MS_INPUT_CONFIG_RESOLVE_RESOLVE_PADDING_H
#define MS_INPUT_CONFIG_RESOLVE_RESOLVE_PADDING_H

#include "input/config/resolve/resolving.h"

/* Runs after images, layout and family. What is not predicted is refused where the run asks for it,
 * and noted where it does not know. */
ms_status ms_resolve_padding(const ms_resolving *c);
/* Why batches of the run can have no padding that is predicted, as the rest of a sentence; NULL:
 * they can. */
const char *ms_padding_refusal(const ms_model_config *model, const ms_run_config *run);

#endif
