/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sentences about a verdict.
 */
#ifndef MS_DECIDE_CHECK_WORDING_H
#define MS_DECIDE_CHECK_WORDING_H

#include "decide/check/verdict.h"

/* "max 78 GiB is exceeded by 1.20 GiB" and so on: one sentence without a full stop; in the arena,
 * NULL when out of memory. */
const char *ms_verdict_text(ms_arena *arena, const ms_verdict *v);
/* "+3.10 GiB: activation +2.80 GiB, temporary +300.00 MiB; seq 4096 -> 8192"; "" without a
 * baseline or when nothing changed. */
const char *ms_verdict_changes(ms_arena *arena, const ms_verdict *v);

#endif
