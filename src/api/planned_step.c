/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api/planned_step.h"

static ms_status view(ms_planned_step *step, const ms_style *style, ms_error *err)
{
    ms_status status = ms_view_create(&step->ledger, NULL, style, &step->view, err);
    if (status != MS_OK)
        ms_ledger_free(&step->ledger);
    return status;
}

ms_status ms_planned_step_run(const ms_model_config *model, const ms_run_config *run,
                              const ms_treatments *treatments, const ms_style *style,
                              ms_planned_step *step, ms_error *err)
{
    step->variation = ms_vary_run(model, run, NULL);
    step->variation.run.treatments = *treatments;
    const ms_job job = ms_variation_job(&step->variation);
    ms_status status = ms_simulate(&job, MS_SIMULATE_ALL, &step->simulated, err);
    if (status != MS_OK)
        return status;
    status = ms_ledger_build(&step->simulated, MS_FOLD_LAYERS, &step->ledger, err);
    if (status == MS_OK)
        status = view(step, style, err);
    if (status != MS_OK)
        ms_simulated_free(&step->simulated);
    return status;
}

void ms_planned_step_free(ms_planned_step *step)
{
    ms_view_free(&step->view);
    ms_ledger_free(&step->ledger);
    ms_simulated_free(&step->simulated);
}
