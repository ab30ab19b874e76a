/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The ledger: the memory of a simulated step, itemised: operator records, schedule, timeline. It
 * refers to the simulation that it was built from, which must outlive it. Everything else belongs
 * to it; ms_ledger_free releases it.
 */
#ifndef MS_DECIDE_LEDGER_LEDGER_H
#define MS_DECIDE_LEDGER_LEDGER_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "decide/ledger/fold.h"
#include "run/measure/schedule.h"
#include "run/measure/source.h"
#include "run/simulate/simulate.h"

/* A persistent tensor, or one execution of an operator; represents `count` equal ones. */
typedef struct ms_record {
    uint32_t op;         /* first execution it represents; MS_NONE for a persistent tensor */
    uint32_t scope;      /* module */
    uint32_t name;       /* of a persistent tensor, index into the trace's names; else MS_NONE */
    uint32_t first_part; /* into parts: storages whose bytes sum to memory_bytes */
    uint32_t part_count;
    uint32_t count; /* of executions in a step, micro-steps that were not simulated included */
    uint32_t first_layers, layer_count; /* into layers: those it represents; 0 outside layers */
    uint32_t micro_step;                /* first it represents; MS_NONE outside micro-steps */
    uint8_t category;                   /* ms_category */
    uint8_t phase;                      /* ms_phase */
    uint8_t pass;                       /* ms_pass, of an operator */
    bool persistent;
    uint64_t memory_bytes;    /* of storages it allocated that outlive it; per execution */
    uint64_t saved_bytes;     /* of those, bytes saved by autograd at some time */
    uint64_t temporary_bytes; /* peak of additional bytes while it runs */
    /* Block bytes alive at the peak, for all executions it represents; of these, saved activations.
     * Each storage is counted in one record. */
    uint64_t peak_bytes, peak_saved_bytes;
    uint64_t flops, traffic_bytes;
    double time_us; /* by the clock; 0 when the device has no rates */
} ms_record;

typedef struct ms_timeline_point {
    uint32_t event; /* counted from the start of the steady step */
    uint8_t phase;  /* ms_phase */
    double ms;      /* by the schedule */
    uint64_t bytes; /* allocated after the event */
    uint64_t reserved_bytes;
    uint32_t allocations;   /* allocations and frees since the start of the steady step */
    uint64_t rounded_bytes; /* sum of ms_usage_rounded_bytes of live storages */
    uint64_t category_bytes[MS_CATEGORY_COUNT]; /* sum to bytes */
} ms_timeline_point;

typedef struct ms_ledger {
    const ms_simulated *simulated; /* its source; the next members point into it */
    const ms_simulation *simulation;
    const ms_usage *usage;
    const ms_usage *evaluation; /* its last phase is the evaluation; NULL: none */
    const ms_model_config *model;
    const ms_run_config *run;
    const ms_summary *summary;
    const ms_profile *profile; /* of the steady step */
    const ms_peak *peak;
    ms_fold_mode mode;
    ms_schedule schedule;      /* of the steady step */
    ms_vec(ms_record) records; /* weights, buffers, gradients, states, then operators in order */
    ms_vec(uint32_t) parts;    /* storages */
    ms_layer_numbers layers;
    ms_vec(
        ms_timeline_point) timeline; /* a few hundred points, with the extremes of each interval */
} ms_ledger;

/* Builds the ledger of a simulation with MS_SIMULATE_ALL. On failure nothing is left to free. */
ms_status ms_ledger_build(const ms_simulated *simulated, ms_fold_mode mode, ms_ledger *ledger,
                          ms_error *err);
/* The evaluation's phase, or NULL. */
const ms_phase_usage *ms_ledger_evaluation(const ms_ledger *ledger);
void ms_ledger_free(ms_ledger *ledger);

/* "model.layers.*.mlp" of a module; returns the length needed. */
uint32_t ms_ledger_module_name(const ms_ledger *ledger, uint32_t scope, bool is_folded, char *out,
                               uint32_t size);
/* "2*B*S*H + 4*B*S": evaluates to memory_bytes. Returns the length needed. */
uint32_t ms_ledger_formula(const ms_ledger *ledger, const ms_record *record, char *out,
                           uint32_t size);

/* "model.layers.*.self_attn.q_proj.mm": folded layers are shown as "*". */
uint32_t ms_ledger_name(const ms_ledger *ledger, const ms_record *record, char *out, uint32_t size);

/* The same for a storage; with a count above 1 its layer is shown as "*". */
uint32_t ms_ledger_storage_name(const ms_ledger *ledger, uint32_t storage, uint32_t count,
                                char *out, uint32_t size);

/* "0-31" or "0,2,5-9" for ascending numbers. Returns the length needed. */
uint32_t ms_layers_print(const uint32_t *layers, uint32_t count, char *out, uint32_t size);

/* What the figures of this run do not include; NULL past the last. */
const char *ms_ledger_not_modelled(const ms_ledger *ledger, size_t index);

#endif
