/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Names and verdicts of ms_fit_reason, the reason why a step fits or not. run/simulate/judge.h
 * decides which reason applies.
 */
#ifndef MS_BASE_REASON_H
#define MS_BASE_REASON_H

#include <stdbool.h>

#include "base/words.h"
#include "memscope/verdict.h"

extern const ms_words ms_verdict_words, ms_reason_words;

/* Each reason belongs to one verdict. */
ms_fit_verdict ms_reason_verdict(ms_fit_reason reason);
static inline bool ms_reason_fits(ms_fit_reason reason)
{
    return ms_reason_verdict(reason) >= MS_VERDICT_TIGHT;
}

/* The reason of that name; false: there is none. */
bool ms_reason_find(const char *name, ms_fit_reason *reason);

#endif
