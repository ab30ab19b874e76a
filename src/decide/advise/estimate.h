/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whether a run fits by far or misses by far, from the same run with a few layers: what a step
 * needs grows by the same for each layer, or for each period of layers of several kinds, as soon as
 * there are some. Only for a search, whose results are simulated in full.
 */
#ifndef MS_DECIDE_ADVISE_ESTIMATE_H
#define MS_DECIDE_ADVISE_ESTIMATE_H

#include "decide/advise/trial.h"

/* Whether the layers are alike or repeat, and are many enough for an estimate to be worth it. */
bool ms_trial_may_be_estimated(const ms_variation *v);
/* Fills the trial's figures, and is_estimate where they say clearly whether it fits. */
ms_status ms_trial_estimate(const ms_variation *v, ms_arena *arena, ms_trial *trial, ms_error *err);

#endif
