/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Decides whether a run fits, for all callers; everything else reads the reason.
 */
#ifndef MS_RUN_SIMULATE_JUDGE_H
#define MS_RUN_SIMULATE_JUDGE_H

#include "base/reason.h"
#include "input/config/run/run_config.h"
#include "run/measure/usage.h"

typedef struct ms_judgement {
    uint64_t budget_bytes; /* of the run, else the device's memory; 0: unknown */
    ms_device_bytes device_bytes;
    ms_fit_reason reason;
} ms_judgement;

/* The most of a job: of its build, its steps and the evaluation between them. */
typedef struct ms_job_most {
    uint64_t bytes, reserved_bytes; /* allocated; reserved, which is what the verdict counts */
} ms_job_most;
/* `evaluation` may be NULL. */
ms_job_most ms_job_most_of(const ms_usage *usage, const ms_usage *evaluation);

/* Judges the device bytes that follow from a usage; their upper end has what the run's files add at
 * most that the figures are without, unless `model` is NULL. `evaluation` is the usage of an
 * evaluation between two steps, or NULL; whichever needs more counts. */
ms_judgement ms_judge(const ms_model_config *model, const ms_run_config *run, const ms_usage *usage,
                      const ms_usage *evaluation);

#endif
