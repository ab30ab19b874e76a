/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Derives the reported figures from the measurements.
 */
#ifndef MS_SIMULATE_SUMMARY_H
#define MS_SIMULATE_SUMMARY_H

#include "simulate/simulate.h"

/* Fills the profile from the simulation. */
ms_status ms_simulated_profile(ms_simulated *simulated, ms_error *err);
/* Sets the reason and what follows from it. */
void ms_summary_set_reason(ms_summary *summary, ms_fit_reason reason);
/* Fills peak, profile and summary from simulation, usage and judgement. */
ms_status ms_simulated_summarize(ms_simulated *simulated, ms_error *err);

#endif
