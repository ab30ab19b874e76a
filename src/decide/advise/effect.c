/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/advise/effect.h"

#include "run/simulate/summary.h"

ms_effect ms_effect_of(const ms_simulated *s)
{
    return (ms_effect){.is_beyond = ms_simulated_is_beyond(s),
                       .device_bytes = s->judgement.device_bytes.expected,
                       .peak_bytes = s->usage.peak_bytes,
                       .host_bytes = s->simulation.host_peak_bytes,
                       .reason = s->judgement.reason,
                       .told = ms_simulated_reason(s),
                       .step_ms = ms_simulated_step_ms(s)};
}

ms_status ms_effect_simulate(const ms_job *job, bool is_timed, ms_effect *effect, ms_error *err)
{
    ms_simulated simulated;
    ms_status status =
        ms_simulate(job, is_timed ? MS_SIMULATE_TIME : MS_SIMULATE_USAGE, &simulated, err);
    if (status != MS_OK)
        return status;
    *effect = ms_effect_of(&simulated);
    ms_simulated_free(&simulated);
    return MS_OK;
}

/* An evaluation has events of its own; of several ranks another may need most. */
bool ms_unchanged_has(const ms_unchanged *unchanged, const ms_run_config *run)
{
    return unchanged->simulated && unchanged->simulated->is_whole &&
           run->training.eval_batch == 0 && run->parallel.layout.kind == MS_PARALLEL_NONE;
}

static const ms_variant *measured(const ms_unchanged *unchanged)
{
    const ms_variant *v =
        unchanged->variants ? ms_variants_find(unchanged->variants, &ms_allocator_change) : NULL;
    return v && v->status == MS_OK ? v : NULL;
}

/* Of the same events, with other retries. */
static double with_retries(double step_ms, const ms_step_time *time, double retry_ms)
{
    return step_ms > 0 ? step_ms - time->retry_ms + retry_ms : 0;
}

ms_status ms_unchanged_play(const ms_unchanged *unchanged, const ms_run_config *run,
                            ms_effect *effect, ms_error *err)
{
    *effect = ms_effect_of(unchanged->simulated);
    const ms_step_time *time = &unchanged->simulated->profile.time;
    const ms_variant *v = measured(unchanged);
    if (v) {
        effect->device_bytes = v->device_bytes;
        effect->peak_bytes = v->peak_bytes;
        effect->reason = v->reason;
        effect->told = ms_reason_with_keys(v->reason, &run->keys);
        effect->step_ms = with_retries(effect->step_ms, time, v->retry_ms);
        return MS_OK;
    }
    ms_simulated lent = ms_simulated_lend(unchanged->simulated);
    ms_status status = ms_simulate_again(&lent, run, err);
    if (status == MS_OK) {
        effect->device_bytes = lent.judgement.device_bytes.expected;
        effect->peak_bytes = lent.usage.peak_bytes;
        effect->reason = lent.judgement.reason;
        effect->told = ms_simulated_reason(&lent);
        effect->step_ms = with_retries(effect->step_ms, time, ms_usage_retry_ms(&lent.usage));
    }
    ms_simulated_free(&lent);
    return status;
}
