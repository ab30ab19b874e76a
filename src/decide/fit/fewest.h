/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Finds the fewest GPUs that a training fits on, by simulation: what varies is how many ranks share
 * the parameters.
 */
#ifndef MS_DECIDE_FIT_FEWEST_H
#define MS_DECIDE_FIT_FEWEST_H

#include "decide/fit/trial.h"

/* Doubles the number, then bisects, then tries fewer one by one, because padding and fragmentation
 * differ from number to number. Stops where a rank's weights and optimizer states alone exceed the
 * memory, as they do with fewer GPUs, or after a bounded number of trials. The fewest that are safe
 * are searched in the same way, above. Fills value, safe_value, next, end and what of the search
 * they say. Refuses layouts whose ranks cannot be added one by one. */
ms_status ms_fit_find_fewest(ms_fit_trials *trials);

#endif
