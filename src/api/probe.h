/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public ms_probe, and what its measurements share.
 */
#ifndef MS_API_PROBE_H
#define MS_API_PROBE_H

#include "api/run.h"
#include "base/arena.h"
#include "base/deadline.h"
#include "memscope/probe.h"
#include "hardware/replay/links.h"
#include "hardware/replay/replay.h"
#include "report/runtime/offload_view.h"
#include "run/simulate/simulate.h"
#include "core/trace/trace_read.h"

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

ms_status ms_probe_begin(ms_probe *p, ms_error *err);
ms_status ms_probe_load(ms_probe *p, const ms_run *run, ms_error *err);
/* Fills the probe's facts, too. The caller closes the backend. */
ms_status ms_probe_open_backend(ms_probe *p, const ms_probe_options *options, ms_backend **backend,
                                ms_error *err);
/* Notes where the predicted times are not for the backend's device. */
ms_status ms_probe_compare_devices(ms_probe *p, ms_error *err);
/* Simulates the run, and what the memory of the backend, if there is one, makes of it; fills the
 * options' allocator. */
ms_status ms_probe_predict(ms_probe *p, ms_replay_options *options, ms_error *err);
/* Drops what the two before left. */
void ms_probe_drop_step(ms_probe *p);
/* Keeps the sentence that the caller gets for the report; returns the status. */
ms_status ms_probe_keep(ms_probe *p, ms_status status, const ms_error *err);

#endif
