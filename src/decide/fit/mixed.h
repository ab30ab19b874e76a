/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The answer in mixed precision, for who said nothing of types, and with PEFT's checkpoints, for
 * who said nothing of them.
 */
#ifndef MS_DECIDE_FIT_MIXED_H
#define MS_DECIDE_FIT_MIXED_H

#include "decide/fit/answer.h"

/* Fills answer->mixed: the same question with fp32 weights, where something fits, weights and
 * optimizer states are in half precision because no type was given, and no adapter is trained; else
 * there are no options. answer->prepared: with the checkpoints of PEFT's preparation, where the run
 * lacks them. Texts belong to the arena. */
ms_status ms_fit_find_mixed(ms_arena *arena, const ms_fit_question *question, ms_fit_answer *answer,
                            ms_error *err);

#endif
