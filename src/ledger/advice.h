/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Suggestions and findings: the run simulated again with one change at a time, and one of several
 * ranks as one device. Each costs a simulation, so they are made only when a report shows them, and
 * not for a run with more than half a million events.
 */
#ifndef MS_LEDGER_ADVICE_H
#define MS_LEDGER_ADVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "ledger/findings.h"
#include "ledger/ledger.h"
#include "simulate/one_device.h"

typedef struct ms_suggestion {
    const char *title;          /* "checkpoint every layer" */
    const char *option;         /* "--checkpointing all"; arena of the advice */
    uint64_t device_bytes;      /* expected device bytes with the change */
    int64_t saved_device_bytes; /* reduction of device bytes */
    int64_t saved_peak_bytes;   /* reduction of the allocated peak */
    ms_fit_reason reason;       /* why it then fits or not */
} ms_suggestion;

typedef struct ms_advice {
    ms_arena *arena;
    ms_vec(ms_suggestion) suggestions; /* only those that save memory, largest saving first */
    ms_findings findings;
    ms_one_device one_device; /* of several ranks */
} ms_advice;

ms_status ms_advice_collect(const ms_ledger *ledger, ms_advice *advice, ms_error *err);
void ms_advice_free(ms_advice *advice);

#endif
