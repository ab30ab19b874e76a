/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Plays the events of a trace through an allocator, and notes what each phase and the steady step
 * use at most.
 */
#ifndef MS_RUN_MEASURE_PLAYER_H
#define MS_RUN_MEASURE_PLAYER_H

#include "run/measure/usage.h"

typedef struct ms_player {
    const ms_trace *trace;
    ms_usage *usage;
    ms_allocator *allocator;
    const ms_allocator_stats *stats;
    ms_block *blocks;      /* per storage: what it was handed */
    ms_phase_usage *phase; /* the one that is open, or NULL; it may move, see begin_phase */
    bool is_steady;        /* the steady step runs: its maxima count */
    bool is_again;         /* the step was played before */
    bool goes_on;          /* without a limit, once the device is full */
    bool ends_full;        /* nothing is given back for what is refused: that is the end */
    bool broken;           /* a step that is played again met tensors it had left, or left none */
} ms_player;

/* The step of the last mark. */
uint16_t ms_last_step_of(const ms_trace *trace);
/* Plays events [begin, end). MS_ERR_OVER_BUDGET, without a message, when the device is full and the
 * player does not go on. */
ms_status ms_play(ms_player *player, uint32_t begin, uint32_t end, ms_error *err);
/* All events; in a lean run those of the last step twice. `until_full`: a first step that runs out
 * of memory is the end. */
ms_status ms_play_steps(ms_player *player, bool is_lean, bool until_full, ms_error *err);

#endif
