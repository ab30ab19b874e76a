/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The simulated training: build, first step, further steps until the events repeat. Yields a trace
 * and static figures. Free with ms_simulation_free.
 */
#ifndef MS_RUN_STEP_STEP_H
#define MS_RUN_STEP_STEP_H

#include "base/error.h"
#include "core/trace/trace.h"
#include "input/config/run/run_config.h"

typedef struct ms_model_config ms_model_config;

/* How much is simulated. The second step is usually like the steady one. */
typedef enum ms_step_detail {
    MS_STEPS_ALL,       /* three steps; operators of the last */
    MS_STEPS_LEAN,      /* two steps; allocations only */
    MS_STEPS_TIMED,     /* two steps; operators of the last, with their costs but no operands */
    MS_STEPS_EVALUATED, /* three steps and an evaluation, which replaces the last step; allocations
                           only */
    MS_STEPS_NONE       /* the model only */
} ms_step_detail;

/* Trained parameters that no gradient reaches, and the first of them. */
enum { MS_UNREACHED_SHOWN = 3 };
typedef struct ms_unreached {
    uint32_t count;
    uint64_t elements, bytes;
    struct {
        uint32_t scope, name; /* of the trace */
    } first[MS_UNREACHED_SHOWN];
} ms_unreached;

typedef struct ms_simulation {
    ms_trace trace;         /* build and all steps; operators and operands of the last step only */
    ms_attention attention; /* the back end used: never MS_ATTENTION_AUTO */
    uint64_t param_count, trainable_param_count, active_param_count;
    uint64_t weight_bytes, buffer_bytes, gradient_bytes, optimizer_state_bytes; /* raw */
    ms_unreached unreached;
    uint64_t host_weight_bytes; /* of parameters kept on the host; not in weight_bytes */
    uint64_t host_peak_bytes;   /* host memory: offloaded saved tensors, and the optimizer */
    uint64_t saved_bytes;       /* unique storages autograd saved in forward, without weights */
    uint64_t cache_bytes; /* of an inference: keys and values after its last pass, in blocks */
    ms_offload_bytes offloaded[MS_MOST_OFFLOAD_TAGS]; /* by tag of the run */
} ms_simulation;

/* On failure nothing is left to free. */
ms_status ms_step_simulate(const ms_model_config *model, const ms_run_config *run,
                           ms_step_detail detail, ms_simulation *simulation, ms_error *err);
void ms_simulation_free(ms_simulation *simulation);

#endif
