/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Saved tensors, and the inputs of checkpoints, in pinned memory of the host.
 */
#ifndef MS_TREATMENTS_OFFLOAD_H
#define MS_TREATMENTS_OFFLOAD_H

#include "autograd/rerun.h"

/* Runs the region of layer `region->number` while its saved tensors go to the host: online, a
 * storage goes when with it at most `share` of the bytes seen so far have gone. */
ms_tensor ms_offload_run(ms_tape *tape, const ms_region *region, ms_tensor input, double share);

/* Sends the input of the checkpoint of a layer, or whatever save_on_cpu takes, at once; false: it
 * stays. `slot` is what ms_offload_unpack takes, which yields the tensor held. */
bool ms_offload_input(ms_tape *tape, uint64_t layer, ms_tensor input, uint32_t *slot);
bool ms_save_on_cpu(ms_tape *tape, ms_tensor tensor, uint32_t *slot);
ms_tensor ms_offload_unpack(ms_tape *tape, uint32_t slot);

/* The most pinned memory that there was at once. */
uint64_t ms_offload_host_peak_bytes(const ms_tape *tape);

#endif
