/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Findings: settings that make the run need more memory than a user may expect, how much, and the
 * settings that change it. Every figure comes from a simulation of the run with that setting.
 */
#ifndef MS_DECIDE_LEDGER_FINDINGS_H
#define MS_DECIDE_LEDGER_FINDINGS_H

#include "base/vec.h"
#include "decide/ledger/ledger.h"
#include "run/simulate/change.h"

/* A setting that remedies a finding, and the device bytes with it. */
typedef struct ms_remedy {
    const char *option;         /* "--autocast bf16" */
    uint64_t device_bytes;      /* expected */
    int64_t saved_device_bytes; /* reduction; negative: it needs more */
    uint64_t retries;           /* of the allocator, in all simulated steps */
    ms_fit_reason reason;       /* why it then fits or not */
} ms_remedy;

enum { MS_MOST_REMEDIES = 2 };

typedef struct ms_finding {
    const char *name; /* "math-attention": a stable identifier */
    const char *text; /* a sentence */
    uint64_t bytes;   /* meaning depends on the name; 0: see the remedies */
    ms_remedy remedies[MS_MOST_REMEDIES];
    uint32_t remedy_count;
} ms_finding;

typedef ms_vec(ms_finding) ms_findings;

/* Adds the variants that this run's findings need. False: out of memory. */
bool ms_findings_add_variants(ms_variants *variants, const ms_ledger *ledger, ms_arena *arena);

/* Appends the relevant findings, with texts in the arena. The variants must be measured. */
ms_status ms_findings_collect(const ms_ledger *ledger, const ms_variants *variants, ms_arena *arena,
                              ms_findings *findings, ms_error *err);

#endif
