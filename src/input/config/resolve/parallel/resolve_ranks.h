/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What of a run is not predicted for one rank of several, whatever technique they share it by.
 */
#ifndef MS_INPUT_CONFIG_RESOLVE_PARALLEL_RESOLVE_RANKS_H
#define MS_INPUT_CONFIG_RESOLVE_PARALLEL_RESOLVE_RANKS_H

#include "input/config/resolve/resolving.h"

/* Whether ranks share parameters layer by layer, and nothing else. */
bool ms_shares_layers_alone(const ms_parallel *parallel);
/* What is not predicted, as "with ..."; NULL: all of it is. */
const char *ms_unsupported_by_ranks(const ms_resolving *c);

#endif
