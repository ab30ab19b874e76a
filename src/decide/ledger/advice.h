/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Suggestions and findings: the run simulated again with changes, and one of several ranks as one
 * device. They cost simulations, so they are made only when a report shows them, and not for a run
 * with more than half a million events.
 */
#ifndef MS_DECIDE_LEDGER_ADVICE_H
#define MS_DECIDE_LEDGER_ADVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "decide/advise/advise.h"
#include "decide/ledger/findings.h"
#include "decide/ledger/ledger.h"
#include "run/simulate/one_device.h"

typedef struct ms_advice {
    ms_arena *arena;
    ms_fit_verdict verdict; /* of the figures, which the suggestions change */
    ms_suggestions suggestions;
    ms_findings findings;
    ms_one_device one_device; /* of several ranks */
} ms_advice;

ms_status ms_advice_collect(const ms_ledger *ledger, ms_advice *advice, ms_error *err);
void ms_advice_free(ms_advice *advice);

#endif
