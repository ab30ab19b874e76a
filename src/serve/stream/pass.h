/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A pass of inference as streaming sees it: what each layer's weights take and how long the layer
 * computes, read from the trace of the pass.
 */
#ifndef MS_SERVE_STREAM_PASS_H
#define MS_SERVE_STREAM_PASS_H

#include "base/error.h"
#include "base/vec.h"
#include "core/device/device.h"
#include "core/trace/trace.h"

typedef struct ms_stream_layer {
    uint64_t weight_bytes; /* as stored, and as copied */
    uint64_t block_bytes;  /* each weight at a multiple of MS_STREAM_UNIT */
    double before_ms;      /* computed outside the layers since the layer before */
    double compute_ms;
} ms_stream_layer;

enum { MS_STREAM_UNIT = 512 };

/* A weight of a layer, and where it lies in the layer's place. */
typedef struct ms_stream_weight {
    uint32_t storage, layer;
    uint64_t at;
} ms_stream_weight;

typedef struct ms_stream_pass {
    ms_vec(ms_stream_layer) layers;   /* in the order they run */
    ms_vec(ms_stream_weight) weights; /* in the order of the trace */
    double after_ms;                  /* after the last layer: norm and head */
    uint64_t slot_bytes;              /* the largest block_bytes: what a place for a layer takes */
    uint64_t layers_bytes;            /* sum of weight_bytes */
    uint64_t outside_bytes;           /* other weights, and all buffers, as stored */
    bool is_timed;                    /* the device's rates and its link are known */
    double link_bytes_per_s;          /* to the device; 0: unknown */
} ms_stream_pass;

/* Reads the first recorded pass of a trace of ms_step_infer. The weights of a layer are those of
 * its module. MS_ERR_CONFIG: the layers do not run once each, in order, or there are none. On
 * failure nothing is left to free. */
ms_status ms_stream_pass_read(const ms_trace *trace, const ms_device *device, ms_stream_pass *pass,
                              ms_error *err);
void ms_stream_pass_free(ms_stream_pass *pass);

/* The layer whose weight this storage is, or MS_NONE. */
uint32_t ms_stream_layer_of(const ms_trace *trace, uint32_t storage);

/* How many pinned buffers of the host, each for one layer, the copies to so many places need so
 * that they wait for no buffer. Where every layer has a place, only the first pass copies: one is
 * filled while the other is copied. */
uint32_t ms_stream_buffers(const ms_stream_pass *pass, uint32_t places);

/* Sums over a pass. */
double ms_stream_compute_ms(const ms_stream_pass *pass);
double ms_stream_copy_ms(const ms_stream_pass *pass, uint32_t layer);

#endif
