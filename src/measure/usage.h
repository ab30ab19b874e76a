/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Usage: a trace played through an allocator. One pass; gives every phase's start, peak and end,
 * the peak of the steady step and where it is, and each storage's block size.
 */
#ifndef MS_MEASURE_USAGE_H
#define MS_MEASURE_USAGE_H

#include "allocator/allocator.h"
#include "base/error.h"
#include "trace/trace.h"

typedef struct ms_phase_usage {
    uint8_t phase; /* ms_phase */
    uint16_t step; /* 1 = first step; the last one is the steady step */
    uint32_t micro_step;
    uint32_t repeats; /* micro-steps it stands for: this one and those that follow; else 1 */
    uint64_t start_bytes, peak_bytes, end_bytes; /* allocated, as the allocator counts */
    uint64_t peak_requested_bytes, end_requested_bytes;
    uint64_t peak_reserved_bytes, end_reserved_bytes;
    uint32_t peak_event; /* first event at which peak_bytes is reached */
} ms_phase_usage;

typedef struct ms_usage {
    ms_allocator_options allocator; /* what it was measured with: without a capacity where that did
                                       not suffice */
    ms_vec(ms_phase_usage) phases;  /* of every step, in order; the build is none */
    uint32_t first_steady_phase;    /* index of the last step's first phase */
    uint64_t after_build_bytes,
        start_bytes; /* allocated after the build; at the start of the steady step */
    uint64_t peak_bytes, peak_requested_bytes, peak_reserved_bytes; /* of the steady step */
    uint64_t most_reserved_bytes; /* of all that was played: a device of that size does the same */
    uint32_t peak_event;
    uint32_t steady_first_event, steady_end_event; /* events of the steady step: [first, end) */
    uint32_t first_steady_storage; /* those before it were there before the steady step */
    uint64_t retries;              /* of all that was played */
    uint64_t steady_retries, steady_retry_bytes; /* of the steady step: how many, and what they
                                                    gave back together */
    bool out_of_memory; /* the device's capacity did not suffice: the figures are of one without a
                           limit, but for ms_usage_measure_fit */
    uint64_t *block_bytes; /* per storage */
    /* The rest is there only after ms_usage_measure. */
    /* Where each storage's block lay, and what the segments hold when the steady step is over. */
    uint64_t *addresses;
    ms_allocator_pieces pieces;
    /* After each event of the steady step, [event - first]. */
    uint64_t *live_bytes, *reserved_bytes;
} ms_usage;

/* Free with ms_usage_free; on failure nothing is left to free. When the capacity does not suffice,
 * out_of_memory is set and all is measured on a device without a limit. */
ms_status ms_usage_measure(const ms_trace *trace, const ms_allocator_options *options,
                           ms_usage *usage, ms_error *err);
/* The same for the trace of a lean run, whose last step is played twice: the second time is the
 * steady step. Only the figures of the steady step are there, no curve and no blocks. `*repeats` is
 * false when the step cannot be played again, as it leaves tensors behind; the usage is then void.
 */
ms_status ms_usage_measure_lean(const ms_trace *trace, const ms_allocator_options *options,
                                ms_usage *usage, bool *repeats, ms_error *err);
/* The same, but the step in which memory runs out goes on without a limit from there. If that is
 * the first, it is the end: out_of_memory and most_reserved_bytes tell of that step, the figures of
 * the steady one are 0. */
ms_status ms_usage_measure_fit(const ms_trace *trace, const ms_allocator_options *options,
                               ms_usage *usage, bool *repeats, ms_error *err);
/* As lean, with each storage's block, for what is alive at the peak. */
ms_status ms_usage_measure_blocks(const ms_trace *trace, const ms_allocator_options *options,
                                  ms_usage *usage, bool *repeats, ms_error *err);
/* What the allocator, that of a usage, holds right after an event of the steady step, as
 * ms_allocator_list gives it;
 * `pieces` is to be released with ms_vec_free, also after a failure. */
ms_status ms_usage_pieces_at(const ms_trace *trace, const ms_allocator_options *options,
                             uint32_t event, ms_allocator_pieces *pieces, ms_error *err);
void ms_usage_free(ms_usage *usage);

/* What a storage takes as someone counts it who follows the step alone: of blocks that were there
 * before, all; of others what was asked for, in the allocator's units, as nobody tells the ends of
 * blocks that were too small to be split off. */
static inline uint64_t ms_usage_rounded_bytes(const ms_trace *trace, const ms_usage *usage,
                                              uint32_t storage)
{
    enum { UNIT_BYTES = 512 };
    uint64_t bytes = trace->storages.items[storage].bytes, block = usage->block_bytes[storage];
    uint64_t rounded = (bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
    bool is_known = storage < usage->first_steady_storage;
    return is_known || rounded > block ? block : rounded;
}

#endif
