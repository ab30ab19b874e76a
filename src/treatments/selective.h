/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Selective checkpoints: what is kept of the operators of a region; and the check that the
 * operators which a run names are there.
 */
#ifndef MS_TREATMENTS_SELECTIVE_H
#define MS_TREATMENTS_SELECTIVE_H

#include "treatments/frames.h"

/* Around a run of the region of a checkpoint with operators to keep: its hooks. */
void ms_selective_begin(ms_tape *tape, ms_checkpoints *all, uint32_t checkpoint);
void ms_selective_end(ms_tape *tape);
/* The region saves a tensor, in forward. */
void ms_selective_save(ms_tape *tape, ms_checkpoints *all, uint32_t checkpoint, ms_tensor tensor);
/* The last holder goes: so does what recomputation has not taken. */
void ms_selective_drop(ms_tape *tape, ms_checkpoints *all, ms_checkpoint *checkpoint);

/* Where a layer of the run names operators to keep: the first forward counts those of each layer,
 * and fails the tape (MS_ERR_CONFIG) at its end when one was to be kept that no layer runs. Layers
 * of another kind may lack it. `treatments`, one for each of `layers`, stay the caller's. */
void ms_selective_watch(ms_tape *tape, const ms_treatment *treatments, uint64_t layers);
/* After such a failure: which operator that was, and what layers run instead, with `place` (may be
 * NULL) as where it is named. False when the tape failed for another reason. */
bool ms_selective_complain(const ms_tape *tape, const ms_error *place, ms_error *err);

#endif
