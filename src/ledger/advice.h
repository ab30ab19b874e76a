/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What would help most, and what of the run is a surprise: the run simulated again with one thing
 * changed, for each thing that can be.
 * Costs a simulation per row, so it is made only when a report shows it, and not at all for a run
 * of more than half a million events.
 */
#ifndef MS_LEDGER_ADVICE_H
#define MS_LEDGER_ADVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/findings.h"
#include "ledger/ledger.h"

typedef struct ms_suggestion {
    const char *title;          /* "checkpoint every layer" */
    const char *option;         /* "--checkpointing all"; arena of the advice */
    uint64_t device_bytes;      /* expected, with the change */
    int64_t saved_device_bytes; /* what the device needs less */
    int64_t saved_peak_bytes;   /* what is allocated less at the peak */
    ms_fit_reason reason;       /* why it fits then, or does not */
} ms_suggestion;

typedef struct ms_advice {
    ms_arena *arena;
    ms_vec(ms_suggestion) suggestions; /* most device bytes saved first; only those that save */
    ms_findings findings;
} ms_advice;

ms_status ms_advice_collect(const ms_ledger *ledger, ms_advice *advice, ms_error *err);
void ms_advice_free(ms_advice *advice);

#endif
