/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A resolved run of llama.cpp: sizes of context and batches, types of the cache, and where each
 * layer is.
 */
#ifndef MS_SERVE_INFER_LLAMA_SIZES_H
#define MS_SERVE_INFER_LLAMA_SIZES_H

#include "serve/infer/llama/model.h"

enum { MS_LLAMA_HOST_ALIGN = 32, MS_LLAMA_CUDA_ALIGN = 128, MS_LLAMA_MAX_DEVICES = 16 };
enum { MS_LLAMA_MOST_SEQUENCES = 256 }; /* LLAMA_MAX_SEQ */
enum { MS_LLAMA_BY_LAYER = -2 };

typedef struct ms_llama_run {
    const ms_infer_job *job;
    const ms_llama_model *model;
    bool is_cuda; /* built with its CUDA backend; else for the CPU alone */
    uint64_t n_ctx, n_ctx_seq, n_batch, n_ubatch, n_seq, streams, outputs;
    ms_stored_id type_k, type_v;
    bool flash;        /* attention in one operator */
    bool turns_values; /* in the cache: where flash attention was off from the start */
    uint32_t devices;
    uint64_t first_device_layer;            /* the head is layer n_layer; n_layer + 1: none */
    float split_ends[MS_LLAMA_MAX_DEVICES]; /* of the layers, cumulated to 1 */
    int8_t
        *places; /* by tensor: a device, MS_INFER_HOST or MS_LLAMA_BY_LAYER; NULL: all by layer */
} ms_llama_run;

ms_status ms_llama_run_resolve(const ms_infer_job *job, const ms_llama_model *model,
                               ms_llama_run *run, ms_error *err);

/* The device of a layer, or of the head (n_layer); MS_INFER_HOST. */
int ms_llama_device_of(const ms_llama_run *run, uint64_t layer);
/* The same for its cache, or its recurrent state. */
int ms_llama_cache_device(const ms_llama_run *run, uint64_t layer);
/* Of a tensor of the model's list. */
int ms_llama_tensor_device(const ms_llama_run *run, const ms_llama_tensor *tensor);
/* "CUDA3"; static. */
const char *ms_llama_device_name(int device);

/* Bytes that a buffer reserves for a tensor: `rows` rows of `width` elements. CUDA pads rows of
 * quantised types to 512 elements, after the last one. */
uint64_t ms_llama_alloc_bytes(ms_stored_id type, uint64_t width, uint64_t rows, bool on_device);

#endif
