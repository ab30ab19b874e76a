/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Findings: what makes this run need more than its user may expect, how much that is, and the
 * setting that changes it. Every figure is of a simulation of the run with that setting.
 */
#ifndef MS_LEDGER_FINDINGS_H
#define MS_LEDGER_FINDINGS_H

#include "base/vec.h"
#include "ledger/ledger.h"
#include "simulate/variants.h"

/* A setting that changes what was found, and what the device then needs. */
typedef struct ms_remedy {
    const char *option;         /* "--autocast bf16" */
    uint64_t device_bytes;      /* expected */
    int64_t saved_device_bytes; /* what that is less than now; below 0: more */
    uint64_t retries;           /* of the allocator, in the steps that are simulated */
} ms_remedy;

enum { MS_MOST_REMEDIES = 2 };

typedef struct ms_finding {
    const char *name; /* "math-attention": stable, for programs */
    const char *text; /* a sentence */
    uint64_t bytes;   /* what it is about, by its name; 0: see the remedies */
    ms_remedy remedies[MS_MOST_REMEDIES];
    uint32_t remedy_count;
} ms_finding;

typedef ms_vec(ms_finding) ms_findings;

/* Adds the variants that findings about this run are made from. False: out of memory. */
bool ms_findings_add_variants(ms_variants *variants, const ms_ledger *ledger, ms_arena *arena);

/* Appends those that are worth a sentence, with texts in the arena, once variants are measured. */
ms_status ms_findings_collect(const ms_ledger *ledger, const ms_variants *variants, ms_arena *arena,
                              ms_findings *findings, ms_error *err);

/* What the training arguments specify for several GPUs; false when nothing. The text is NULL
 * when out of memory. */
bool ms_finding_of_several_gpus(const ms_ledger *ledger, ms_arena *arena, ms_finding *finding);

#endif
