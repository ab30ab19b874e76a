/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a captured inference engine reported: its settings, its cache and its workers.
 */
#ifndef MS_INPUT_DOCUMENT_RECORDED_ENGINE_H
#define MS_INPUT_DOCUMENT_RECORDED_ENGINE_H

#include "input/document/recorded.h"

/* Bytes of one device; 0: not known, because the engine had not come so far. */
typedef struct ms_recorded_worker {
    uint64_t rank;
    uint64_t requested_bytes; /* its budget */
    uint64_t weights_bytes, buffers_bytes, activation_bytes, non_torch_bytes, graphs_bytes;
    uint64_t cache_bytes;
    uint64_t serving_bytes, beyond_budget_bytes; /* all of them, and by how much that is too much */
    uint64_t free_bytes;                         /* when it is ready */
    bool has_profile; /* otherwise activations, memory outside PyTorch and the sum are not known */
} ms_recorded_worker;

struct ms_recorded_engine {
    const char *name, *version, *model;
    bool has_dummy_weights, has_cache;
    bool is_parallel; /* over several devices */
    uint64_t max_batched_tokens, max_requests, max_tokens_of_request;
    double utilization;
    uint64_t cache_tokens;
    double requests_at_once; /* of the longest */
    ms_recorded_worker *workers;
    uint32_t worker_count;
};

/* Fills r->engine where the report has one. */
ms_status ms_recorded_read_engine(ms_recorded *r, ms_json_value root, ms_error *err);

#endif
