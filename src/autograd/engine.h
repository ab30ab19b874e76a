/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Running the tape backward, and activation checkpointing.
 */
#ifndef MS_AUTOGRAD_ENGINE_H
#define MS_AUTOGRAD_ENGINE_H

#include "autograd/tape.h"

/* Runs backward from `root` with gradient `grad` (floating or held by the caller). Nodes run by
 * descending number; gradients of parameters end in tape->parameters. */
void ms_backward(ms_tape *tape, ms_tensor root, ms_tensor grad);

/* What the engine does with a gradient before it hands it on; operators use them too. */
ms_tensor ms_sum_to(ms_tape *tape, ms_tensor grad, const ms_shape *shape);
ms_tensor ms_cast_raw(ms_tape *tape, ms_tensor tensor, ms_dtype dtype);

/* Adds `tensor` (its reference moves) into `*slot`, in place where PyTorch would. */
void ms_accumulate(ms_tape *tape, ms_tensor *slot, ms_tensor tensor);

/* What a checkpoint runs: region(tape, context, number, input). `positional` is where the region
 * reads a second positional argument, saved as the input is (NULL or 0: none); `held` are keyword
 * arguments, which live as long (0: none). */
typedef struct ms_region {
    ms_region_fn run;
    void *context;
    uint64_t number;
    ms_tensor *positional;
    ms_input_place input_place;
    ms_tensor held[MS_MAX_HELD];
    const ms_kept_op *kept_ops; /* operators whose results stay (selective); may be NULL */
    uint32_t kept_op_count;
} ms_region;

/* Runs the region under a checkpoint: non-reentrant with early stop, or reentrant, as tape->run
 * says. */
ms_tensor ms_checkpoint_run(ms_tape *tape, const ms_region *region, ms_tensor input);

/* Where the graph ends, and cutting off what was added behind: a rerun's nodes. */
typedef struct ms_graph_end {
    uint32_t nodes, metas, buffers, holds;
} ms_graph_end;
ms_graph_end ms_graph_end_of(const ms_tape *tape);
void ms_graph_cut(ms_tape *tape, ms_graph_end end);

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

/* A leaf, behind the parameters, that stands for the input in the graph of a rerun: a backward
 * leaves its gradient there. The input is held. */
uint32_t ms_leaf_add(ms_tape *tape, ms_tensor input);

/* torch.get_rng_state() where the device is the host, held; else 0. */
ms_tensor ms_host_random_state(ms_tape *tape);

/* Gives a stream work beside the operators, and yields its number: that of ms_work_of, with a
 * stream of the first ones; operators that follow a wait come after it. */
static inline ms_work ms_work_of(ms_work_kind kind, uint64_t bytes)
{
    return (ms_work){.kind = (uint8_t)kind,
                     .stream = kind == MS_WORK_TO_DEVICE ? MS_STREAM_TO_DEVICE
                               : kind == MS_WORK_TO_HOST ? MS_STREAM_TO_HOST
                                                         : MS_STREAM_UPDATES,
                     .source = MS_NONE,
                     .target = MS_NONE,
                     .group = MS_NONE,
                     .after = MS_NONE,
                     .layer = MS_NONE,
                     .bytes = bytes};
}
uint32_t ms_work_begin(ms_tape *tape, ms_work work);
void ms_work_wait(ms_tape *tape, uint32_t work);

/* Runs the region while its saved tensors go to the host: online, a storage goes when with it at
 * most `share` of the bytes seen so far have gone. */
ms_tensor ms_offload_run(ms_tape *tape, const ms_region *region, ms_tensor input, double share);
/* Layer `number` has run: what earlier layers sent leaves the device. */
void ms_offload_release(ms_tape *tape, uint32_t number);

/* Runs the region over `pieces` pieces of the rows of `input` without a graph, and over each again,
 * forward and backward, when backward comes to it. The region consumes its input, [rows, H]. */
ms_tensor ms_tiled_run(ms_tape *tape, const ms_region *region, ms_tensor input, uint32_t pieces);

/* Causal attention in pieces of the queries, each with the keys up to its end, without a graph; and
 * each again, forward and backward, when backward comes to it. The arguments are the caller's. */
ms_tensor ms_tiled_attention_run(ms_tape *tape, ms_tiled_attention attention, ms_tensor query,
                                 ms_tensor key, ms_tensor value, ms_tensor mask);

/* Parameters whose home is the host. Whether those of the module are such; making one, that is on
 * the device, one; what the host needs to add up gradients. */
bool ms_home_is_host(const ms_tape *tape, uint32_t scope);
void ms_home_add(ms_tape *tape, uint32_t parameter);
uint64_t ms_home_landing_bytes(const ms_tape *tape);
/* Forward begins; a layer's forward begins and ends. */
void ms_home_begin(ms_tape *tape);
void ms_home_begin_layer(ms_tape *tape, uint32_t layer);
void ms_home_end_layer(ms_tape *tape, uint32_t layer);

/* Holds a tensor until the graph goes; the same of an activation that a node keeps for itself,
 * where neither hooks nor checkpoints see it. */
void ms_graph_hold(ms_tape *tape, ms_tensor tensor);
void ms_graph_hold_activation(ms_tape *tape, ms_tensor tensor);

/* tensor.requires_grad_(True) on a result that nothing trained made: its gradient is kept until the
 * graph goes. */
void ms_require_grad(ms_tape *tape, ms_tensor tensor);

/* Forgets the graph of a micro-step, when its loss is dropped. */
void ms_graph_drop(ms_tape *tape);

/* Internal to the tape: the tensor of a saved slot, recomputed if need be; and its release. */
ms_tensor ms_checkpoint_unpack(ms_tape *tape, uint32_t frame, uint32_t index);
void ms_checkpoint_drop(ms_tape *tape, uint32_t frame, uint32_t holders);

/* Internal to the tape: a storage's references. */
void ms_storage_retain(ms_tape *tape, uint32_t storage);
void ms_storage_release(ms_tape *tape, uint32_t storage);
/* Gives a tensor whose storage is gone one like it. */
void ms_storage_renew(ms_tape *tape, ms_tensor tensor);
void ms_trace_event(ms_tape *tape, ms_event_kind kind, uint32_t id);
void ms_mark_saved(ms_tape *tape, ms_tensor tensor);

/* Internal to the tape: what a selective checkpoint does when an operator begins, ends, saves, and
 * when its last holder goes. */
void ms_selective_begin(ms_tape *tape, const ms_op *op, ms_op_mark *mark);
void ms_selective_end(ms_tape *tape, ms_op_mark mark);
void ms_selective_save(ms_tape *tape, ms_tensor tensor);
void ms_selective_drop(ms_tape *tape, ms_checkpoint *checkpoint);
/* Where the run names operators to keep: counts those of each layer's first forward. */
void ms_selective_watch(ms_tape *tape, uint64_t layers);
void ms_selective_count(ms_tape *tape, const ms_op *op);
void ms_selective_count_begin(ms_tape *tape);
void ms_selective_count_end(ms_tape *tape);
/* The first forward has run: fails when an operator was to be kept that no layer runs. Layers of
 * another kind may lack it. */
void ms_selective_check(ms_tape *tape, uint64_t layers);

/* Which operator that was, and what layers run instead. */
ms_status ms_selective_complain(const ms_tape *tape, ms_error *err);

/* Internal to the tape: an open offload takes a saved tensor (false: it stays), hands one back, and
 * fetches what the layer below sent. */
bool ms_offload_save(ms_tape *tape, ms_tensor tensor, uint32_t *slot);
/* The same of the input of a layer's checkpoint; and of whatever save_on_cpu takes, at once. */
bool ms_offload_input(ms_tape *tape, uint64_t layer, ms_tensor input, uint32_t *slot);
bool ms_save_on_cpu(ms_tape *tape, ms_tensor tensor, uint32_t *slot);
ms_tensor ms_offload_unpack(ms_tape *tape, uint32_t slot);
void ms_offload_fetch(ms_tape *tape, uint32_t layer);

/* Internal to the tape: backward goes from one layer to another (MS_NONE: outside), and ends. */
void ms_home_pass(ms_tape *tape, uint32_t from, uint32_t to);
void ms_home_end(ms_tape *tape);

/* The copies of weights that autocast made; called when its context ends. */
void ms_autocast_clear(ms_tape *tape);

#endif
