/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parameters of the layers in memory of the host.
 */
#ifndef MS_TREATMENTS_HOST_PARAMETERS_H
#define MS_TREATMENTS_HOST_PARAMETERS_H

#include "autograd/tape.h"

/* The host keeps this parameter, which is on the device and belongs to a layer, from now on. Layers
 * come in their order, and one after the other. */
void ms_host_parameters_add(ms_tape *tape, uint32_t parameter);
/* Whether the host keeps it. */
bool ms_host_parameters_has(const ms_tape *tape, uint32_t parameter);

/* Of all of them, and of those of the largest layer. */
uint64_t ms_host_parameters_bytes(const ms_tape *tape);
uint64_t ms_host_parameters_layer_bytes(const ms_tape *tape);

#endif
