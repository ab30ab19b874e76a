/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Variations: a job with something of it changed. The one way to ask for another run than the one
 * that was given: for suggestions and findings, for what a plan is compared with, for treatments
 * that are tried, for the largest value that fits. What concerns one member alone is set in `run`;
 * a budget by ms_budget_set; what others follow is set by the functions below.
 */
#ifndef MS_SIMULATE_VARIATION_H
#define MS_SIMULATE_VARIATION_H

#include "base/arena.h"
#include "simulate/simulate.h"

typedef struct ms_variation {
    ms_model_config model;
    ms_run_config run;
    const ms_usage *evaluation; /* as of a job */
    ms_arena *arena;            /* of what is made for it; NULL where nothing is */
} ms_variation;

/* The same job, as yet. What it points to is shared and must outlive the variation. */
ms_variation ms_vary(const ms_job *job, ms_arena *arena);
/* The same for a model and a run without an evaluation that is known. */
ms_variation ms_vary_run(const ms_model_config *model, const ms_run_config *run, ms_arena *arena);
/* It refers to the variation. */
ms_job ms_variation_job(const ms_variation *variation);

/* The treatments of its layers, its own from now on, to be changed; NULL when out of memory. */
ms_treatment *ms_vary_treatments(ms_variation *v);
/* Every layer under one treatment, and the loss in so many chunks. False when out of memory. */
bool ms_vary_all_layers(ms_variation *v, const ms_treatment *treatment, uint32_t loss_chunks);
/* A model of so many layers: past its own they are as its own, again from the first on. False when
 * out of memory. */
bool ms_vary_layers(ms_variation *v, uint64_t count);
/* The rank of its adapter, of which there is one. False when out of memory. */
bool ms_vary_rank(ms_variation *v, uint64_t rank);
/* The type of the weights, and what follows from it. */
void ms_vary_dtype(ms_variation *v, ms_dtype dtype);

#endif
