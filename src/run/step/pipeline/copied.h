/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Passes that do what an earlier one did. From the second on, the passes of a stage differ in the
 * storages alone: one is recorded, and the others are copies of its events, without a tape that
 * runs. What a pass may free is what its own micro-batch made, and gradients of parameters.
 */
#ifndef MS_RUN_STEP_PIPELINE_COPIED_H
#define MS_RUN_STEP_PIPELINE_COPIED_H

#include "torch/autograd/tape.h"
#include "base/arena.h"

/* The parts of a micro-batch's passes that are recorded one by one. */
typedef enum ms_flight_part {
    MS_FLIGHT_FORWARD,  /* up to the stage's output */
    MS_FLIGHT_LOSS,     /* of the last stage, from its output */
    MS_FLIGHT_BACKWARD, /* up to the gradient of what the stage received */
    MS_FLIGHT_PARTS
} ms_flight_part;

/* Storages that one part made, in a row. */
typedef struct ms_made {
    uint32_t first, count;
} ms_made;

/* Of one micro-batch, by ms_flight_part. */
typedef struct ms_made_parts {
    ms_made part[MS_FLIGHT_PARTS];
} ms_made_parts;

typedef struct ms_copied_event ms_copied_event;
typedef struct ms_new_gradient ms_new_gradient;

/* One part of the passes of a stage. Zeroed: not recorded. */
typedef struct ms_recorded_pass {
    bool is_there;
    ms_made_parts made; /* by the micro-batch that was recorded */
    ms_copied_event *events;
    ms_new_gradient *gradients; /* that took the place of others */
    uint32_t event_count, gradient_count;
    uint32_t first_work; /* of the trace */
    bool has_result;
    ms_tensor_info result;
} ms_recorded_pass;

/* While a part runs: where it began, and the storages of gradients by then. */
typedef struct ms_pass_recorder {
    uint32_t first_event, first_storage, first_work;
    uint32_t parameters; /* the first ones; other rows are leaves of micro-batches */
    uint32_t *gradients; /* by parameter; room for so many, the caller's */
} ms_pass_recorder;

void ms_pass_begin(ms_pass_recorder *recorder, ms_tape *tape);
/* Notes what the part made. */
void ms_pass_end(const ms_pass_recorder *recorder, const ms_tape *tape, ms_flight_part part,
                 ms_made_parts *made);
/* After ms_pass_end: records the part; `result` is the tensor that it leaves, or 0. False: it did
 * what no copy can do, or the tape has failed. */
bool ms_pass_record(const ms_pass_recorder *recorder, ms_tape *tape, ms_arena *arena,
                    ms_flight_part part, const ms_made_parts *made, ms_tensor result,
                    ms_recorded_pass *pass);
/* Copies the part for a micro-batch that made these storages so far, and notes what it makes.
 * *result: its result, floating, or 0. False: the micro-batch differs from the recorded one. */
bool ms_pass_copy(const ms_recorded_pass *pass, ms_tape *tape, ms_flight_part part,
                  ms_made_parts *made, ms_tensor *result);

#endif
