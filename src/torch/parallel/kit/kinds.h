/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The techniques, a row each, and what they share.
 */
#ifndef MS_PARALLEL_KINDS_H
#define MS_PARALLEL_KINDS_H

#include "torch/autograd/tape.h"
#include "torch/autograd/work.h"
#include "input/config/run/layout.h"

/* Shards that the host keeps; all 0: none. */
typedef struct ms_parallel_host {
    uint64_t weight_bytes;  /* of all, with padding */
    uint64_t trained_bytes; /* of those that are trained, without */
    uint32_t trained;       /* how many these are */
} ms_parallel_host;

/* What happens to a stage of a pipeline in a step. */
typedef enum ms_stage_moment {
    MS_STAGE_GATHERS, /* with several stages on a rank: it is gathered, as it is needed soon */
    MS_STAGE_LEAVES,  /* in the same case: it is not needed soon, and makes room */
    MS_STAGE_BEGINS,  /* a pass of the stage begins: it is the one that runs now */
    MS_STAGE_ENDS     /* its last backward has run: its gradients are reduced */
} ms_stage_moment;

/* One technique; NULL: nothing to do. */
typedef struct ms_parallel_technique {
    void (*build_begin)(ms_tape *tape);
    void (*build_end)(ms_tape *tape);
    void (*micro_step)(ms_tape *tape, bool is_last);
    bool (*copies_outputs)(const ms_tape *tape); /* the forward that begins returns copies */
    void (*backward_begins)(ms_tape *tape);
    ms_parallel_host (*on_host)(const ms_tape *tape);
    void (*clip)(ms_tape *tape); /* NULL: as without ranks */
    void (*backward_ends)(ms_tape *tape);
    void (*stage_moment)(ms_tape *tape, uint64_t number, ms_stage_moment moment);
    void (*update_begins)(ms_tape *tape);
    bool (*update_ends)(ms_tape *tape); /* true: the optimizer steps again, other parameters */
    uint64_t (*host_bytes)(ms_tape *tape, uint64_t states); /* of an optimizer on the host */
    uint64_t (*gradient_bytes)(ms_tape *tape); /* of gradients that stay until the update */
    bool is_engine; /* its own engine scales the loss and clips gradients */
} ms_parallel_technique;

extern const ms_parallel_technique ms_parallel_ddp, ms_parallel_fsdp, ms_parallel_fsdp1,
    ms_parallel_tp, ms_parallel_zero, ms_parallel_zero3;

/* What the tape's step is divided by; NULL: one rank. `parallel` must outlive the tape; false: out
 * of memory. */
bool ms_parallel_set(ms_tape *tape, const ms_parallel *parallel);
const ms_parallel *ms_parallel_of(const ms_tape *tape);

/* A whole parameter that was built on the device: its memory goes, the tensor stays on none, in the
 * type of the computation. */
void ms_parallel_leave_device(ms_tape *tape, ms_tensor parameter);

/* A stream for collectives among so many ranks, which lie within `span` neighbours: of one host, or
 * of several (whose link is unknown). */
uint32_t ms_collective_stream(ms_tape *tape, const char *name, uint64_t span, uint64_t ranks);
/* Enqueues a collective that moves so many bytes through each rank's link. */
uint32_t ms_collective(ms_tape *tape, ms_work_kind kind, uint32_t stream, uint64_t bytes);
/* The same for tensors of the module `scope` (MS_NONE: of several), among so many ranks. */
uint32_t ms_collective_of(ms_tape *tape, uint32_t scope, uint64_t ranks, ms_work_kind kind,
                          uint32_t stream, uint64_t bytes);

#endif
