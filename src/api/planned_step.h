/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The planned step in detail, for reports that show more than a plan's figures.
 */
#ifndef MS_API_PLANNED_STEP_H
#define MS_API_PLANNED_STEP_H

#include "decide/ledger/ledger.h"
#include "report/view/view.h"
#include "run/simulate/variation.h"

/* Must not be moved: its members point to one another. */
typedef struct ms_planned_step {
    ms_variation variation;
    ms_simulated simulated;
    ms_ledger ledger;
    ms_view view;
} ms_planned_step;

/* Simulates the step with these treatments. The configs must outlive it; on failure nothing is left
 * to free. */
ms_status ms_planned_step_run(const ms_model_config *model, const ms_run_config *run,
                              const ms_treatments *treatments, const ms_style *style,
                              ms_planned_step *step, ms_error *err);
void ms_planned_step_free(ms_planned_step *step);

#endif
