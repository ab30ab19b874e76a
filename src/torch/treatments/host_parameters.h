/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Layer parameters in host memory, fetched while their layer runs.
 */
#ifndef MS_TORCH_TREATMENTS_HOST_PARAMETERS_H
#define MS_TORCH_TREATMENTS_HOST_PARAMETERS_H

#include "torch/autograd/tape.h"

/* Moves a layer's parameter from the device to the host for the rest of the run. Call it layer by
 * layer, in order. */
void ms_host_parameters_add(ms_tape *tape, uint32_t parameter);
/* Whether the parameter is kept on the host. */
bool ms_host_parameters_has(const ms_tape *tape, uint32_t parameter);

/* Bytes of all of them, and of those of the largest layer. */
uint64_t ms_host_parameters_bytes(const ms_tape *tape);
uint64_t ms_host_parameters_layer_bytes(const ms_tape *tape);

#endif
