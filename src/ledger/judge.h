/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whether a run fits: the one place that decides it. Everything else reads the reason.
 */
#ifndef MS_LEDGER_JUDGE_H
#define MS_LEDGER_JUDGE_H

#include "base/reason.h"
#include "config/run/run_config.h"
#include "measure/usage.h"

typedef struct ms_judgement {
    uint64_t budget_bytes; /* of the run, else what the device has; 0: neither is known */
    uint64_t low_device_bytes, expected_device_bytes, high_device_bytes; /* with the context */
    ms_fit_reason reason;
} ms_judgement;

/* What the run's device holds when the allocator behaved like that, and why that fits or not.
 * `evaluation` is what an evaluation between two steps uses, or NULL: what needs more counts. */
ms_judgement ms_judge(const ms_run_config *run, const ms_usage *usage, const ms_usage *evaluation);

/* The run's own budget, else what its device has; 0: neither is known. */
uint64_t ms_judge_budget(const ms_run_config *run);

#endif
