/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/plan/costs/measurement.h"

#include <inttypes.h>

#include "base/threads.h"
#include "decide/plan/costs/option_list.h"
#include "input/config/model/model_config.h"

static void measure_one(void *context, uint32_t index)
{
    ms_measurement *m = &((ms_measurement *)context)[index];
    const ms_job job = ms_variation_job(&m->variation);
    ms_simulated simulated;
    m->status = ms_simulate(&job, MS_SIMULATE_PROFILE, &simulated, &m->err);
    if (m->status != MS_OK)
        return;
    m->profile = simulated.profile;
    simulated.profile = (ms_profile){0};
    if (m->ops)
        m->status =
            ms_op_list_read(&simulated.simulation.trace, m->variation.run.device, m->ops, &m->err);
    ms_simulated_free(&simulated);
}

ms_status ms_measurements_run(ms_measurement *list, uint32_t count, ms_error *err)
{
    ms_threads_run(count, measure_one, list);
    for (uint32_t i = 0; i < count; i++)
        if (list[i].status != MS_OK) {
            if (err && err->status == MS_OK)
                *err = list[i].err;
            return list[i].status;
        }
    return MS_OK;
}

void ms_measurements_free(ms_measurement *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        ms_profile_free(&list[i].profile);
}

ms_status ms_measurement_set(ms_arena *arena, const ms_model_config *model,
                             const ms_run_config *run, const ms_treatment *treatment,
                             uint32_t loss_chunks, ms_measurement *m, ms_error *err)
{
    *m = (ms_measurement){.variation = ms_vary_run(model, run, arena)};
    if (!ms_vary_all_layers(&m->variation, treatment, loss_chunks))
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %" PRIu64 " layers",
                       model->num_layers);
    return MS_OK;
}
