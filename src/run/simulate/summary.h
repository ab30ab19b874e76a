/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Derives the reported figures from the measurements.
 */
#ifndef MS_RUN_SIMULATE_SUMMARY_H
#define MS_RUN_SIMULATE_SUMMARY_H

#include "run/simulate/simulate.h"

/* Fills the profile from the simulation, and what retries of the usage cost. */
ms_status ms_simulated_profile(ms_simulated *simulated, ms_error *err);
/* Of a step, from the profile; 0: unknown, as of devices without rates and in a pipeline, where a
 * step takes as long as all ranks need together. */
double ms_simulated_step_ms(const ms_simulated *simulated);
/* The judgement's reason, with what the run's files leave out of the figures. */
ms_fit_reason ms_simulated_reason(const ms_simulated *simulated);
/* Sets the reason and what follows from it. */
void ms_summary_set_reason(ms_summary *summary, ms_fit_reason reason);
/* Fills peak, profile and summary from simulation, usage and judgement. */
ms_status ms_simulated_summarize(ms_simulated *simulated, ms_error *err);

#endif
