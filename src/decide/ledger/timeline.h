/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_DECIDE_LEDGER_TIMELINE_H
#define MS_DECIDE_LEDGER_TIMELINE_H

#include "decide/ledger/ledger.h"
#include "run/measure/source.h"

/* Samples the allocated bytes of the steady step: the minimum and the maximum of each interval of
 * events. At most 402 points, including the first and the last. Needs the ledger's schedule. */
ms_status ms_timeline_sample(const ms_record_source *source, ms_ledger *ledger, ms_error *err);

#endif
