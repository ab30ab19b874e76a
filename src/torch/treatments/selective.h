/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Selective checkpoints: the results of operators that are kept, and the check that the operators
 * named by a run exist.
 */
#ifndef MS_TORCH_TREATMENTS_SELECTIVE_H
#define MS_TORCH_TREATMENTS_SELECTIVE_H

#include "torch/treatments/frames.h"

/* Install and remove the hooks around a run of a selective checkpoint's region. */
void ms_selective_begin(ms_tape *tape, ms_checkpoints *all, uint32_t checkpoint);
void ms_selective_end(ms_tape *tape);
/* After the region's forward: fails the tape (MS_ERR_CONFIG) if an operator changed in place what
 * is kept; PyTorch does the same in backward. */
void ms_selective_check(ms_tape *tape, const ms_checkpoints *all,
                        const ms_stored_weights *checkpoint);
/* Called when the region saves a tensor in forward. */
void ms_selective_save(ms_tape *tape, ms_checkpoints *all, uint32_t checkpoint, ms_tensor tensor);
/* Called when the last saved tensor is dropped: drops kept results that recomputation has not used.
 */
void ms_selective_drop(ms_tape *tape, ms_checkpoints *all, ms_stored_weights *checkpoint);

/* If a layer of the run names operators to keep, the first forward counts the operators of each
 * layer. At its end it fails the tape (MS_ERR_CONFIG) if an operator to keep runs in no layer;
 * layers of another kind may lack it. The caller owns `treatments`, one per layer. */
void ms_selective_watch(ms_tape *tape, const ms_treatment *treatments, uint64_t layers);
/* After such a failure: reports that operator, and the operators that layers run if it is none of
 * them, at `place` (may be NULL), where it is named. False when the tape failed for another reason.
 */
bool ms_selective_complain(const ms_tape *tape, const ms_error *place, ms_error *err);

#endif
