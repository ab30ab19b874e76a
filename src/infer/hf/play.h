/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The events of a generation, played through PyTorch's allocator pass by pass, and what is
 * allocated when a phase is at its peak, by part.
 */
#ifndef MS_INFER_HF_PLAY_H
#define MS_INFER_HF_PLAY_H

#include "infer/kit/result.h"
#include "measure/player.h"
#include "step/inference/generation.h"

typedef struct ms_hf_peak {
    uint64_t allocated, end_allocated, reserved; /* bytes: at the peak; at the end; at most */
    uint64_t parts[MS_INFER_PARTS];              /* at the peak; their sum is `allocated` */
} ms_hf_peak;

typedef struct ms_hf_play {
    ms_player player;
    ms_usage usage;
    uint32_t capacity;             /* rows of the tables of blocks */
    uint64_t live[MS_INFER_PARTS]; /* allocated now */
    ms_hf_peak load, prefill, decode;
} ms_hf_play;

/* Without a limit. MS_ERR_NOMEM; end it also then. */
ms_status ms_hf_play_begin(ms_hf_play *play, const ms_allocator_options *options, ms_error *err);
void ms_hf_play_end(ms_hf_play *play);

/* What feeds it; the play must outlive it. */
ms_generation_reader ms_hf_play_reader(ms_hf_play *play);

#endif
