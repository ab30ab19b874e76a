/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What is allocated when a phase of a generation is at its peak, by part.
 */
#ifndef MS_INFER_HF_PARTS_H
#define MS_INFER_HF_PARTS_H

#include "infer/kit/result.h"
#include "measure/usage.h"

/* The phases of a generation's usage: the prompt's pass is the first; those of decoding follow. */
typedef struct ms_hf_peak {
    ms_infer_phase phase;
    uint32_t event;
    uint64_t allocated, end_allocated, reserved; /* bytes: at the peak; at the end */
} ms_hf_peak;

/* After loading: the build's end. */
ms_hf_peak ms_hf_peak_of_load(const ms_trace *trace, const ms_usage *usage);
/* The peak of passes [first, end) of the usage; of none, all members are 0. */
ms_hf_peak ms_hf_peak_of_passes(const ms_usage *usage, ms_infer_phase phase, uint32_t first,
                                uint32_t end);

/* Adds the parts of a peak, whose sum is what is reserved; `cells` of `layers` are in the cache.
 * MS_ERR_NOMEM. */
ms_status ms_hf_parts_add(const ms_trace *trace, const ms_usage *usage, const ms_hf_peak *peak,
                          uint64_t cells, uint64_t layers, ms_infer_result *result, ms_error *err);

#endif
