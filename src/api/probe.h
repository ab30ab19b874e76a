/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public ms_probe, and what its measurements share.
 */
#ifndef MS_API_PROBE_H
#define MS_API_PROBE_H

#include "api/run.h"
#include "base/arena.h"
#include "base/deadline.h"
#include "core/trace/trace_read.h"
#include "hardware/replay/links.h"
#include "hardware/replay/replay.h"
#include "input/config/model/model_config.h"
#include "memscope/probe.h"
#include "report/runtime/offload_view.h"
#include "run/simulate/simulate.h"

struct ms_probe {
    ms_arena *arena;
    ms_model_config model;
    ms_run_config run;
    ms_notes notes;
    ms_style style;
    ms_stop stop;
    ms_simulated simulated;
    const char *trace_file; /* NULL: of a model */
    ms_trace_file trace;    /* of that file, and its times */
    ms_profile profile;
    ms_usage predicted;
    ms_replay_result result;
    ms_links links;
    ms_offload_tags tags;
    ms_offload_rows rows;
    ms_backend_facts facts;
    const char *backend; /* NULL: none */
    ms_status status;
    char message[sizeof(((ms_error *)NULL)->text)];
    bool is_used, is_memory_only, is_same_device, is_swept;
    bool is_simulated, has_predicted, has_result, has_links; /* which members are filled */
};

#endif
