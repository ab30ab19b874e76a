/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Storages alive at the peak of the steady step, in block bytes, so that each of the three views
 * (categories; layers; listed and other tensors) sums exactly to the peak.
 */
#ifndef MS_RUN_MEASURE_PEAK_H
#define MS_RUN_MEASURE_PEAK_H

#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "run/measure/source.h"

/* Consecutive layers with equal bytes. */
typedef struct ms_peak_layers {
    uint32_t first, count; /* first = MS_NONE: outside the layers */
    uint64_t bytes;        /* in total */
} ms_peak_layers;

/* Equal tensors of different layers share a row. */
typedef struct ms_peak_tensor {
    uint32_t storage; /* one of them */
    uint32_t count;
    uint64_t bytes; /* in total */
} ms_peak_tensor;

enum { MS_PEAK_TENSORS = 20 };

typedef struct ms_peak {
    uint32_t event;
    uint8_t phase; /* ms_phase */
    uint32_t micro_step;
    uint32_t op; /* that was running, or MS_NONE */
    uint64_t bytes;
    ms_vec(uint32_t) storages; /* that are alive, ascending */
    uint64_t category_bytes[MS_CATEGORY_COUNT];
    uint32_t category_count[MS_CATEGORY_COUNT];
    ms_vec(ms_peak_layers) layers;
    ms_vec(ms_peak_tensor) tensors; /* the MS_PEAK_TENSORS largest */
    uint32_t other_count;           /* tensors not listed */
    uint64_t other_bytes;
} ms_peak;

ms_status ms_peak_compose(const ms_record_source *source, ms_peak *peak, ms_error *err);
void ms_peak_free(ms_peak *peak);

#endif
