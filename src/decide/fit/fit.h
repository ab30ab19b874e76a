/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Finds the largest batch, sequence length, adapter rank or number of layers with which a step
 * fits, or the fewest GPUs, by simulation.
 */
#ifndef MS_DECIDE_FIT_FIT_H
#define MS_DECIDE_FIT_FIT_H

#include "decide/fit/answer.h"

/* Doubles the value, then bisects, then tries larger values one by one, because a larger value may
 * fit where a smaller one does not (fragmentation). Stops where the tensors alone exceed the
 * memory, as they do for all larger values, or after a bounded number of values. The largest safe
 * value is searched in the same way, from the largest downwards. The fewest GPUs: see
 * decide/fit/fewest.h. Texts belong to the arena. */
ms_status ms_fit_search(ms_arena *arena, const ms_fit_question *question, ms_fit_answer *answer,
                        ms_error *err);

/* The same search for the value only, without figures. */
ms_status ms_fit_find_value(const ms_fit_question *question, ms_fit_answer *answer, ms_error *err);

/* ---- mixed ---- */

/* The answer in mixed precision, for who said nothing of types, and with PEFT's checkpoints, for
 * who said nothing of them. */

/* Fills answer->mixed: the same question with fp32 weights, where something fits, weights and
 * optimizer states are in half precision because no type was given, and no adapter is trained; else
 * there are no options. answer->prepared: with the checkpoints of PEFT's preparation, where the run
 * lacks them. Texts belong to the arena. */
ms_status ms_fit_find_mixed(ms_arena *arena, const ms_fit_question *question, ms_fit_answer *answer,
                            ms_error *err);

#endif
