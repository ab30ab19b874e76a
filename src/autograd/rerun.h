/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Running a part of forward again in the midst of a backward.
 */
#ifndef MS_AUTOGRAD_RERUN_H
#define MS_AUTOGRAD_RERUN_H

#include "autograd/tape.h"

/* Runs the region's program. */
typedef ms_tensor (*ms_region_fn)(ms_tape *tape, void *context, uint64_t number, ms_tensor input);

/* A part of forward that may run again: run(tape, context, number, input). `positional` is where
 * the region reads a second positional argument, saved as the input is (NULL or 0: none); `held`
 * are keyword arguments, which live as long (0: none). */
typedef struct ms_region {
    ms_region_fn run;
    void *context;
    uint64_t number;
    ms_tensor *positional;
    ms_tensor held[MS_MAX_KEPT_ARGUMENTS];
} ms_region;

/* In a node's backward: runs the region with a graph of its own on `input` (floating; it goes),
 * then backward from its result with `grad`; the caller cuts the graph. Yields the gradient of the
 * input, floating. Casts of weights that autocast makes go before the backward, or stay until
 * ms_autocast_clear. */
typedef enum ms_rerun_casts { MS_RERUN_DROPS_CASTS, MS_RERUN_KEEPS_CASTS } ms_rerun_casts;
ms_tensor ms_rerun(ms_tape *tape, const ms_region *region, ms_tensor input, ms_tensor grad,
                   ms_rerun_casts casts);

/* Forward again in the midst of a backward, until ms_rerun_end. */
typedef struct ms_rerun_mode {
    uint8_t pass;
    bool had_autocast;
} ms_rerun_mode;
ms_rerun_mode ms_rerun_begin(ms_tape *tape);
void ms_rerun_end(ms_tape *tape, ms_rerun_mode mode);

/* torch.get_rng_state() where the device is the host, held; else 0. */
ms_tensor ms_host_random_state(ms_tape *tape);

/* The copies of weights that autocast made; called when its context ends. */
void ms_autocast_clear(ms_tape *tape);

#endif
