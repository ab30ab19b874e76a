/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How several ranks share a run, in the words of a trainer. --training-args reads each file back as
 * the same layout, with the same figures.
 */
#ifndef MS_DECIDE_PLAN_TRAINERS_RANKS_TEXT_H
#define MS_DECIDE_PLAN_TRAINERS_RANKS_TEXT_H

#include "decide/plan/trainers/target.h"

/* Each gives a text in *text: a line of comment that names the file, and the file; or code. What
 * the trainer cannot express is MS_ERR_USAGE, and the sentence names the options that it can.
 * `checkpoints`: the plan's layers are checkpointed. */
ms_status ms_ranks_accelerate(MS_RANKS_ARGUMENTS);
ms_status ms_ranks_torchtitan(MS_RANKS_ARGUMENTS);
ms_status ms_ranks_torchtune(MS_RANKS_ARGUMENTS);
ms_status ms_ranks_deepspeed(MS_RANKS_ARGUMENTS);
ms_status ms_ranks_pytorch(MS_RANKS_ARGUMENTS);

#endif
