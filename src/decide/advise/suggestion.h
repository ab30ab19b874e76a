/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The figures and texts of one suggestion.
 */
#ifndef MS_DECIDE_ADVISE_SUGGESTION_H
#define MS_DECIDE_ADVISE_SUGGESTION_H

#include "decide/advise/advise.h"

/* What it comes to, beside the unchanged run. */
void ms_suggestion_read(const ms_summary *before, const ms_effect *effect, ms_suggestion *s);
/* What another device takes, in what time is not asked. */
void ms_suggestion_read_device(const ms_effect *effect, ms_suggestion *s);
/* From what was found, and the option; in the arena. False when out of memory. */
bool ms_suggestion_fill_texts(ms_suggestion *s, ms_arena *arena);

#endif
