/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One run of an engine, and whether it fits.
 */
#ifndef MS_SERVE_INFER_TRIAL_H
#define MS_SERVE_INFER_TRIAL_H

#include "serve/infer/answer.h"

/* Texts of the result are in `arena`, or static. */
ms_status ms_infer_engine_run(const ms_infer_input *input, const ms_infer_settings *settings,
                              const ms_infer_engine *engine, ms_arena *arena,
                              ms_infer_result *result, ms_error *err);

/* Sets what the engine chooses by itself, where that is asked for. */
ms_status ms_infer_choose(const ms_infer_input *input, const ms_infer_engine *engine,
                          ms_infer_settings *settings, ms_infer_choice *choice, ms_error *err);

/* The types that the engine has for the model's weights, at most MS_INFER_MOST_QUANTS, from the
 * largest file to the smallest. */
ms_status ms_infer_quants(const ms_infer_input *input, const ms_infer_settings *settings,
                          const ms_infer_engine *engine, const char **names, size_t *count,
                          ms_error *err);

/* Upper bounds of the speed of such a result. */
ms_status ms_infer_speed_of(const ms_infer_input *input, const ms_infer_settings *settings,
                            const ms_infer_engine *engine, const ms_infer_result *result,
                            ms_infer_speed *speed, ms_error *err);

/* `is_safe`: with the highest figures, not the expected ones. *full: where it does not, the
 * device that lacks most. */
bool ms_infer_result_fits(const ms_infer_input *input, const ms_infer_result *result, bool is_safe,
                          int *full);

/* What a run with another value of a setting shows. */
typedef struct ms_infer_trial {
    bool fits, is_safe, has_floor; /* as the functions above */
    uint64_t needed_bytes; /* expected, of the device that is full; 0 where bytes do not say it */
} ms_infer_trial;

/* `only_fits`: needed_bytes is not wanted. */
ms_status ms_infer_try(const ms_infer_input *input, const ms_infer_settings *settings,
                       const ms_infer_engine *engine, const char *field, const char *value,
                       bool only_fits, ms_infer_trial *trial, ms_error *err);
/* The same as a run has it: what takes long is not coarser. */
ms_status ms_infer_try_exactly(const ms_infer_input *input, const ms_infer_settings *settings,
                               const ms_infer_engine *engine, const ms_infer_setting *setting,
                               ms_infer_trial *trial, ms_error *err);

#endif
