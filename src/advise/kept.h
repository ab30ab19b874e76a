/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_ADVISE_KEPT_H
#define MS_ADVISE_KEPT_H

#include "simulate/simulate.h"

/* Weights, their gradients and states of the optimizer that are on the device at once, in every
 * step, whatever is done to layers; of several ranks the weights alone. */
uint64_t ms_kept_bytes(const ms_run_config *run, const ms_simulation *simulation);

#endif
