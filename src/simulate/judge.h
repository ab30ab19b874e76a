/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whether a run fits: the one place that decides it. Everything else reads the reason.
 */
#ifndef MS_SIMULATE_JUDGE_H
#define MS_SIMULATE_JUDGE_H

#include "base/reason.h"
#include "config/run/budget.h"
#include "measure/usage.h"

typedef struct ms_judgement {
    uint64_t budget_bytes; /* of the run, else what the device has; 0: neither is known */
    ms_device_bytes device_bytes;
    ms_fit_reason reason;
} ms_judgement;

/* What the run's device holds when the allocator behaved like that, and why that fits or not.
 * `evaluation` is what an evaluation between two steps uses, or NULL: what needs more counts. */
ms_judgement ms_judge(const ms_run_config *run, const ms_usage *usage, const ms_usage *evaluation);

#endif
