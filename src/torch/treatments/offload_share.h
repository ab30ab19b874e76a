/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How much of what is saved goes to the host: of one layer, or of a tag in all layers.
 */
#ifndef MS_TORCH_TREATMENTS_OFFLOAD_SHARE_H
#define MS_TORCH_TREATMENTS_OFFLOAD_SHARE_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
