/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Usage: a trace played through an allocator, in one pass. Yields start, peak and end of every
 * phase, the peak of the steady step and its event, and each storage's block size.
 */
#ifndef MS_RUN_MEASURE_USAGE_H
#define MS_RUN_MEASURE_USAGE_H

#include "base/error.h"
#include "core/allocator/allocator.h"
#include "core/trace/trace.h"

typedef struct ms_phase_usage {
    uint8_t phase; /* ms_phase */
    uint16_t step; /* 1 = first step; the last one is the steady step */
    uint32_t micro_step;
    uint32_t repeats; /* micro-steps it represents: this one and the following ones; else 1 */
    uint64_t start_bytes, peak_bytes, end_bytes; /* allocated, as the allocator counts */
    uint64_t peak_requested_bytes, end_requested_bytes;
    uint64_t peak_reserved_bytes, end_reserved_bytes;
    uint32_t peak_event; /* first event at which peak_bytes is reached */
} ms_phase_usage;

typedef struct ms_usage {
    ms_allocator_options allocator; /* used for the figures; no capacity if that was exceeded */
    ms_vec(ms_phase_usage) phases;  /* of every step, in order; without the build */
    uint32_t first_steady_phase;    /* index of the last step's first phase */
    uint64_t after_build_bytes,
        start_bytes;               /* allocated after the build; at the start of the steady step */
    uint64_t build_reserved_bytes; /* when the build ends */
    uint64_t peak_bytes, peak_requested_bytes, peak_reserved_bytes; /* of the steady step */
    uint64_t most_bytes;          /* allocated, of everything played, the build included */
    uint64_t most_reserved_bytes; /* of everything played: a device of that size does the same */
    uint32_t peak_event;
    uint32_t steady_first_event, steady_end_event; /* events of the steady step: [first, end) */
    uint32_t first_steady_storage; /* earlier ones were allocated before the steady step */
    uint64_t slow_reserved_bytes;  /* the same of a device that falls behind its host; 0: was not
                                      asked for, or nothing waits for another stream */
    uint64_t retries;              /* of everything played */
    uint64_t steady_retries, steady_retry_bytes; /* of the steady step; bytes they released */
    bool out_of_memory;    /* the capacity was exceeded: the figures are without a limit, except for
                              ms_usage_measure_fit */
    uint64_t *block_bytes; /* per storage */
    /* Filled only by ms_usage_measure: */
    /* Address of each storage's block, and the blocks of all segments at the end of the steady
     * step. */
    uint64_t *addresses;
    ms_allocator_pieces pieces;
    /* After each event of the steady step, [event - first]. */
    uint64_t *live_bytes, *reserved_bytes;
} ms_usage;

/* Free with ms_usage_free; on failure nothing is left to free. If the capacity is exceeded,
 * out_of_memory is set and everything is measured on a device without a limit. */
ms_status ms_usage_measure(const ms_trace *trace, const ms_allocator_options *options,
                           ms_usage *usage, ms_error *err);
/* The figures alone, no curve and no blocks. */
ms_status ms_usage_measure_figures(const ms_trace *trace, const ms_allocator_options *options,
                                   ms_usage *usage, ms_error *err);
/* Sets usage->slow_reserved_bytes, in a usage that was measured from the same trace: what would be
 * reserved, without a limit, if other streams were done with a tensor only when the host waits for
 * them: where the trace says so, and at the ends of phases. `is_lean` as for the usage. */
ms_status ms_usage_measure_slow(const ms_trace *trace, const ms_allocator_options *options,
                                bool is_lean, ms_usage *usage, ms_error *err);
/* The same for a trace of two steps (MS_STEPS_LEAN): the last step is played twice, the second time
 * as the steady step. Fills only the figures of the steady step, no curve and no blocks. `*repeats`
 * is false if the step cannot be played again because it leaves tensors allocated; the usage is
 * then empty. */
ms_status ms_usage_measure_lean(const ms_trace *trace, const ms_allocator_options *options,
                                ms_usage *usage, bool *repeats, ms_error *err);
/* The same, but a step that runs out of memory continues without a limit. If it is the first step,
 * playing ends with it: out_of_memory and most_reserved_bytes are of that step, and the steady
 * step's figures are 0. */
ms_status ms_usage_measure_fit(const ms_trace *trace, const ms_allocator_options *options,
                               ms_usage *usage, bool *repeats, ms_error *err);
/* As ms_usage_measure_lean, but of what needs more than the capacity nothing is known other than
 * out_of_memory. */
ms_status ms_usage_measure_within(const ms_trace *trace, const ms_allocator_options *options,
                                  ms_usage *usage, bool *repeats, ms_error *err);
/* As ms_usage_measure_lean, with each storage's block size, for the storages alive at the peak. */
ms_status ms_usage_measure_blocks(const ms_trace *trace, const ms_allocator_options *options,
                                  ms_usage *usage, bool *repeats, ms_error *err);
/* The allocator's blocks right after an event of the steady step, as ms_allocator_list returns
 * them; `options` are those of a usage. Release `pieces` with ms_vec_free, also after a failure. */
ms_status ms_usage_pieces_at(const ms_trace *trace, const ms_allocator_options *options,
                             uint32_t event, ms_allocator_pieces *pieces, ms_error *err);
void ms_usage_free(ms_usage *usage);

/* Milliseconds in which the driver takes back what a steady step's retries release and gives it
 * again. That each retry waits for the device first is not in it. */
double ms_usage_retry_ms(const ms_usage *usage);

/* The bytes of a storage as an observer of the step alone counts them, as `memscope capture` does:
 * the block size if the block was allocated before the step, otherwise the requested bytes in the
 * allocator's units, because slack that was too small to split off cannot be observed. */
static inline uint64_t ms_usage_rounded_bytes(const ms_trace *trace, const ms_usage *usage,
                                              uint32_t storage)
{
    enum { UNIT_BYTES = 512 };
    uint64_t bytes = trace->storages.items[storage].bytes, block = usage->block_bytes[storage];
    uint64_t rounded = (bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
    bool is_known = storage < usage->first_steady_storage;
    return is_known || rounded > block ? block : rounded;
}

/* ---- lifetime ---- */

/* Lifetimes: the events between which each storage is alive. */

typedef struct ms_lifetime {
    uint32_t birth, death; /* event of the allocation and of the free; MS_NONE = never */
} ms_lifetime;

/* One per storage of the trace; the caller frees the array. NULL when out of memory. */
ms_lifetime *ms_lifetimes_create(const ms_trace *trace);

/* Whether the storage is alive after `event`. */
static inline bool ms_lifetime_covers(ms_lifetime lifetime, uint32_t event)
{
    return lifetime.birth <= event && event < lifetime.death;
}

/* The most bytes requested at one time in the phases of the steps, after the build. */
uint64_t ms_lifetimes_most(const ms_trace *trace);

#endif
