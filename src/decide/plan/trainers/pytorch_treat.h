/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The Python function that applies treatments to a PyTorch model.
 */
#ifndef MS_DECIDE_PLAN_TRAINERS_PYTORCH_TREAT_H
#define MS_DECIDE_PLAN_TRAINERS_PYTORCH_TREAT_H

#include "base/arena.h"
#include "input/config/treatment/treatment.h"

/* The function treat(model), for a model of so many layers; the functions that it calls are in
 * python/memscope/pytorch. In the arena; NULL: out of memory. */
const char *ms_pytorch_treat(ms_arena *arena, const ms_treatments *treatments, uint32_t layers,
                             bool is_reentrant);

#endif
