/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "torch/treatments/offload_share.h"

bool ms_offload_share_takes(ms_offload_share *share, uint64_t bytes)
{
    share->seen_bytes += bytes;
    uint64_t whole = share->total_bytes ? share->total_bytes : share->seen_bytes;
    if ((double)(share->sent_bytes + bytes) > share->ratio * (double)whole)
        return false;
    share->sent_bytes += bytes;
    return true;
}

void ms_offload_share_end_pass(ms_offload_share *share)
{
    if (share->seen_bytes == 0)
        return; /* an evaluation saves nothing */
    if (share->total_bytes == 0)
        share->total_bytes = share->seen_bytes;
    share->last_sent_bytes = share->sent_bytes;
    share->seen_bytes = share->sent_bytes = 0;
}
