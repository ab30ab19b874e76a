/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_DECIDE_LEDGER_EVENTS_H
#define MS_DECIDE_LEDGER_EVENTS_H

#include <stdio.h>

#include "base/error.h"
#include "run/measure/usage.h"
#include "core/trace/trace.h"

/* Writes the allocations and frees of the steady step as text, one per line: number, + or -,
 * requested bytes, bytes live since the step began, tensor, operator, pass, module. */
ms_status ms_events_write(const ms_trace *trace, const ms_usage *usage, FILE *out, ms_error *err);

#endif
