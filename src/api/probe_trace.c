/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A trace of a file, which is measured instead of a model's step.
 */
#include <string.h>

#include "api/probe.h"
#include "base/file.h"
#include "json/place.h"
#include "replay/replay_check.h"

static ms_status fail_file(const char *name, ms_status status, ms_error *err)
{
    ms_json_place_file(name, err);
    return status;
}

static ms_status read_file(ms_probe *p, const char *path, ms_error *err)
{
    ms_error reason = {.status = MS_OK};
    const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;
    FILE *file = ms_file_open(ms_arena_inputs(p->arena), path, &reason);
    if (!file)
        return fail_file(name, ms_fail(err, reason.status, "cannot open: %s", reason.text), err);
    ms_status status = ms_trace_read(file, name, &p->trace, err);
    ms_file_close(file);
    if (status != MS_OK)
        return status;
    p->trace_file = ms_arena_strdup(p->arena, name);
    if (p->trace_file) {
        status = ms_replay_check(&p->trace.trace, err);
        return status == MS_OK ? status : fail_file(name, status, err);
    }
    ms_trace_free(&p->trace.trace);
    return ms_fail(err, MS_ERR_NOMEM, "no memory for a trace");
}

ms_status ms_probe_load_trace(ms_probe *p, const ms_run *run, const char *path, ms_error *err)
{
    ms_arena_set_inputs(p->arena, run->inputs);
    ms_status status = ms_config_load_device(p->arena, run->settings.items, run->settings.count,
                                             "a trace", &p->run, &p->notes, err);
    if (status == MS_OK)
        status = read_file(p, path, err);
    if (status != MS_OK || p->is_memory_only || p->trace.trace.ops.count > 0)
        return status;
    p->is_memory_only = true;
    return ms_note_add(&p->notes, p->arena, err,
                       "the trace has no operators: allocations and releases only");
}

const ms_trace *ms_probe_trace_of(const ms_probe *p)
{
    return p->trace_file ? &p->trace.trace : &p->simulated.simulation.trace;
}
