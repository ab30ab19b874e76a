/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What every simulation, of training and of inference, has in common: the run of its tape, for
 * functions that get only the tape; the model on it, and what that is given.
 */
#ifndef MS_RUN_STEP_RUN_H
#define MS_RUN_STEP_RUN_H

#include "base/error.h"
#include "input/config/run/run_config.h"
#include "model/blocks/model.h"

/* The caller owns the run; false when out of memory. */
bool ms_step_set_run(ms_tape *tape, const ms_run_config *run);
const ms_run_config *ms_step_run(const ms_tape *tape);

/* Marks in the trace where a phase begins or ends, which counts tape->repeats times. */
void ms_step_mark(ms_tape *tape, bool begin, ms_phase phase, uint16_t step, uint32_t micro_step);

/* Builds an initialised model on its tape: parameters in the types of the run, and buffers too
 * where model.to(dtype) casts them, quantised, with its adapter. Failures are the tape's; some have
 * a sentence in `err`. */
void ms_step_build_model(ms_model *model, bool casts_buffers, ms_error *err);

/* What a pass over the model's batch and tokens is given: token ids, or pictures in the type of the
 * weights. The caller holds it. */
/* The images' inputs, as the family's processor makes them: model->pixel_values and what goes with
 * it. */
void ms_step_new_images(ms_model *model);
ms_tensor ms_step_new_input(ms_model *model);
/* The attention mask of such an input, if the run passes one; else 0. The caller holds it. */
ms_tensor ms_step_new_mask(ms_model *model);
/* What tells the documents of packed rows apart, as TRL's collator makes it: the position of each
 * token, int64 [B, S], where documents begin and end, twice, int32 [documents + 1], and the number
 * of each token's document, int32 [B, S]. 0: rows are one document each. */
typedef struct ms_packed_rows {
    ms_tensor position_ids, bounds[2], numbers;
} ms_packed_rows;

/* The caller holds them, and drops them. */
ms_packed_rows ms_step_new_packed_rows(ms_model *model);
void ms_step_drop_packed_rows(ms_model *model, ms_packed_rows *rows);
/* The labels of such an input: of classes [B], else [B, S]; 0 where the input's ids are them. The
 * caller holds them. */
ms_tensor ms_step_new_labels(ms_model *model);

/* The sentence about a tape that failed with this status, which is returned. */
ms_status ms_step_explain(const ms_tape *tape, ms_status status, ms_error *err);

#endif
