/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Offloading saved tensors and inputs of checkpoints to pinned host memory.
 */
#ifndef MS_TORCH_TREATMENTS_OFFLOAD_H
#define MS_TORCH_TREATMENTS_OFFLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "input/config/treatment/offload_tags.h"
#include "torch/autograd/engine.h"

/* ---- offload share ---- */

/* How much of what is saved goes to the host: of one layer, or of a tag in all layers. */

/* Of the pass that runs, in bytes. */
typedef struct ms_offload_share {
    double ratio;
    uint64_t seen_bytes, sent_bytes;
    uint64_t total_bytes;     /* of a pass, as the first one measured it; 0: not known yet */
    uint64_t last_sent_bytes; /* of the pass before */
} ms_offload_share;

/* Counts a storage. True: it goes, as what has gone stays with it within the ratio of all bytes, or
 * of those seen so far while all are not known. */
bool ms_offload_share_takes(ms_offload_share *share, uint64_t bytes);
void ms_offload_share_end_pass(ms_offload_share *share);

/* Runs the region of layer `region->number` and offloads its saved tensors as they are saved: a
 * storage is offloaded if the offloaded bytes stay within `share` of the bytes saved so far. */
ms_tensor ms_offload_run(ms_tape *tape, const ms_region *region, ms_tensor input, double share);
/* The same for tensors of tags, each within its ratio of the bytes of all layers; `tags` outlives
 * the tape. */
ms_tensor ms_offload_run_tags(ms_tape *tape, const ms_region *region, ms_tensor input,
                              const ms_offload_tags *tags);

/* Offload the input of a layer's checkpoint, or a tensor under save_on_cpu; false: it stays on the
 * device. ms_offload_unpack fetches the tensor of a slot and retains it. */
bool ms_offload_input(ms_tape *tape, uint64_t layer, ms_tensor input, uint32_t *slot);
bool ms_save_on_cpu(ms_tape *tape, ms_tensor tensor, uint32_t *slot);
ms_tensor ms_offload_unpack(ms_tape *tape, uint32_t slot);

/* Of the last pass. */
ms_offload_bytes ms_offload_bytes_of_tag(const ms_tape *tape, uint32_t tag);

/* Peak of pinned host memory. */
uint64_t ms_offload_host_peak_bytes(const ms_tape *tape);

#endif
