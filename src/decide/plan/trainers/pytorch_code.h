/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * PyTorch code for any treatments: the files of python/memscope/pytorch that they need, and the
 * function that applies them to a model.
 */
#ifndef MS_DECIDE_PLAN_TRAINERS_PYTORCH_CODE_H
#define MS_DECIDE_PLAN_TRAINERS_PYTORCH_CODE_H

#include "input/config/treatment/treatment.h"

/* ---- pytorch treat ---- */

/* The Python function that applies treatments to a PyTorch model. */

/* The function treat(model), for a model of so many layers; the functions that it calls are in
 * python/memscope/pytorch. In the arena; NULL: out of memory. */
const char *ms_pytorch_treat(ms_arena *arena, const ms_treatments *treatments, uint32_t layers,
                             bool is_reentrant);

#endif
