/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * transformers' Trainer gives its optimizer two groups of parameters, with and without weight
 * decay. ZeRO partitions each group apart.
 */
#ifndef MS_PARALLEL_ZERO_GROUPS_H
#define MS_PARALLEL_ZERO_GROUPS_H

#include "torch/autograd/tape.h"
#include "input/config/run/layout.h"

enum { MS_ZERO_MOST_GROUPS = 2 };

/* The group of the parameter `index` of the tape: 0 with weight decay, 1 without, as
 * Trainer.get_decay_parameter_names of transformers 5.23 (trainer.py) has them. Without decay
 * groups all are in group 0. */
uint32_t ms_zero_group_number(const ms_tape *tape, const ms_zero *zero, uint32_t index);

#endif
