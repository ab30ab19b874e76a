/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The largest batch, sequence, adapter rank or number of layers at which a step fits, and the
 * fewest GPUs.
 *
 *     ms_error err = {0};
 *     ms_run *run = ms_run_create();
 *     ms_run_set(run, "config", "llama-3.2-1b", &err);
 *     ms_fit *fit = ms_fit_find(run, "batch", 0, &err);
 *     ms_fit_write(fit, "console", stdout, &err);
 *     ms_fit_free(fit);
 *     ms_run_free(run);
 */
#ifndef MEMSCOPE_FIT_H
#define MEMSCOPE_FIT_H

#include "memscope/memscope.h"

#ifdef __cplusplus
extern "C" {
#endif

#define MS_FIT_SCHEMA_VERSION "1.4"

typedef struct ms_fit ms_fit;

/* Searches by simulation. `what` is "batch", "seq", "rank", "layers" or "gpus"; the values tried
 * are multiples of `step`, where 0 means 64 tokens for "seq", as many as the layout grows by for
 * "gpus", and otherwise 1. The run's own setting of `what` is ignored; its `parallel` says how GPUs
 * share the training, by fully_shard where it says nothing. NULL on failure. The result does not
 * refer to `run` afterwards. */
ms_fit *ms_fit_find(const ms_run *run, const char *what, uint64_t step, ms_error *err);
void ms_fit_free(ms_fit *fit);

/* The largest value that fits, if only just; and the largest with the verdict MS_VERDICT_FITS,
 * which is at most that. Of "gpus" the fewest, and the fewest with that verdict. 0 when there is
 * none. */
uint64_t ms_fit_value(const ms_fit *fit);
uint64_t ms_fit_safe_value(const ms_fit *fit);

/* The verdict of the largest value, or fewest GPUs; MS_VERDICT_NO where there is none, and
 * MS_VERDICT_UNKNOWN where settings that are not predicted decide. */
ms_fit_verdict ms_fit_verdict_of(const ms_fit *fit);

/* As ms_analysis_note and ms_analysis_set_style. */
const char *ms_fit_note(const ms_fit *fit, size_t index);
void ms_fit_set_style(ms_fit *fit, const ms_style *style);

/* Writes "console", "json", "md" or "html". */
ms_status ms_fit_write(const ms_fit *fit, const char *format, FILE *out, ms_error *err);

/* Names of the formats, and of the quantities that can be searched; NULL past the last. */
const char *ms_fit_format_at(size_t index);
const char *ms_fit_what_name(size_t index);

#ifdef __cplusplus
}
#endif
#endif
