/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Variations: a job with changes. The only way to simulate a run other than the given one: for
 * suggestions and findings, for the baselines of a plan, for treatments that are tried, for the
 * largest value that fits. Set independent members in `run`, a budget with ms_budget_set, and
 * members that others depend on with the functions below.
 */
#ifndef MS_RUN_SIMULATE_VARIATION_H
#define MS_RUN_SIMULATE_VARIATION_H

#include "base/arena.h"
#include "run/simulate/simulate.h"

typedef struct ms_variation {
    const ms_model_config *model;
    ms_run_config run;
    const ms_usage *evaluation; /* as of a job */
    ms_arena *arena;            /* for new data of the variation; NULL: none is needed */
} ms_variation;

/* A variation equal to the job, but for the keys that its files leave out: its verdict is that of
 * its figures. Data it points to is shared and must outlive it. */
ms_variation ms_vary(const ms_job *job, ms_arena *arena);
/* The same for a model and a run whose evaluation is unknown. */
ms_variation ms_vary_run(const ms_model_config *model, const ms_run_config *run, ms_arena *arena);
/* The job of a variation, which must outlive it. */
ms_job ms_variation_job(const ms_variation *variation);

/* Gives the variation its own copy of the layers' treatments, to change; NULL when out of memory.
 */
ms_treatment *ms_vary_treatments(ms_variation *v);
/* Treats all layers alike, and computes the loss in `loss_chunks` chunks. False when out of memory.
 */
bool ms_vary_all_layers(ms_variation *v, const ms_treatment *treatment, uint32_t loss_chunks);
/* Sets the number of layers; additional layers repeat the model's own, from the first. False when
 * out of memory. */
bool ms_vary_layers(ms_variation *v, uint64_t count);
/* Sets the rank of the run's adapter, which must exist. False when out of memory. */
bool ms_vary_rank(ms_variation *v, uint64_t rank);
/* Sets the dtype of the weights, and members that follow from it. */
void ms_vary_dtype(ms_variation *v, ms_dtype dtype);

#endif
