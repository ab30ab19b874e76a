/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The events of a generation, played through PyTorch's allocator pass by pass, and what is
 * allocated when a phase is at its peak, by part.
 */
#ifndef MS_SERVE_INFER_HF_PLAY_H
#define MS_SERVE_INFER_HF_PLAY_H

#include "serve/infer/kit/result.h"
#include "run/measure/player.h"
#include "run/step/inference/generation.h"

typedef struct ms_hf_peak {
    uint64_t allocated, end_allocated, reserved; /* bytes: at the peak; at the end; at most */
    uint64_t parts[MS_INFER_PARTS];              /* at the peak; their sum is `allocated` */
} ms_hf_peak;

typedef struct ms_hf_play {
    ms_player player;
    ms_usage usage;
    uint64_t limit;                /* bytes that may be reserved; 0: any */
    uint32_t capacity;             /* rows of the tables of blocks */
    uint64_t live[MS_INFER_PARTS]; /* allocated now */
    ms_hf_peak load, prefill, decode;
} ms_hf_play;

/* Within a limit the allocator gives back what it can before it fails; then it goes on without one,
 * and `reserved` is the least that is needed. MS_ERR_NOMEM; end it also then. */
ms_status ms_hf_play_begin(ms_hf_play *play, const ms_allocator_options *options, uint64_t limit,
                           ms_error *err);
void ms_hf_play_end(ms_hf_play *play);

static inline bool ms_hf_play_failed(const ms_hf_play *play)
{
    return play->usage.out_of_memory;
}

/* What feeds it; the play must outlive it. */
ms_generation_reader ms_hf_play_reader(ms_hf_play *play);

#endif
