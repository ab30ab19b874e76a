/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A trace file: what is accepted can be measured, timed, listed, replayed and written, and reads as
 * itself.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "decide/ledger/events.h"
#include "run/measure/usage.h"
#include "run/measure/profile.h"
#include "run/measure/schedule.h"
#include "hardware/replay/backend_host.h"
#include "hardware/replay/replay.h"
#include "core/trace/trace_read.h"

static const ms_device device = {.memory_bytes_per_s = 1e12,
                                 .fp32_flops = 1e13,
                                 .host_link_bytes_per_s = 1e10,
                                 .host_memory_bytes_per_s = 1e10};

static void measure(const ms_trace *trace, ms_allocator_kind kind)
{
    const ms_allocator_options options = {.kind = kind};
    ms_usage usage;
    ms_schedule schedule;
    ms_error err = {0};
    if (ms_usage_measure(trace, &options, &usage, &err) != MS_OK) {
        assert(err.text[0]);
        return;
    }
    FILE *out = fopen("/dev/null", "w");
    if (out) {
        (void)ms_events_write(trace, &usage, out, &err);
        fclose(out);
    }
    if (ms_schedule_build(trace, &usage, &device, &schedule, &err) == MS_OK)
        ms_schedule_free(&schedule);
    ms_usage_free(&usage);
}

/* ---- replay ---- */

#define MIB (UINT64_C(1) << 20)
static const ms_backend_host_options hosts[] = {
    {.capacity_bytes = 64 * MIB, .has_no_blas = true},
    {.capacity_bytes = MIB << 24, .has_no_blas = true, .skips_data = true},
};

/* Bytes and sums that a replay with data computes; saturates. */
static uint64_t work_of(const ms_trace *trace)
{
    double all = 0;
    for (uint32_t i = 0; i < trace->works.count; i++)
        all += (double)trace->works.items[i].bytes;
    for (uint32_t i = 0; i < trace->ops.count; i++)
        all += (double)trace->ops.items[i].traffic_bytes;
    for (uint32_t i = 0; i < trace->products.count; i++) {
        const ms_gemm *p = &trace->products.items[i];
        all += (double)p->batches * (double)p->rows * (double)p->inner * (double)p->columns;
    }
    return all < (double)(MIB << 24) ? (uint64_t)all : MIB << 24;
}

static void replay(const ms_trace *trace, const ms_backend_host_options *host, bool is_memory_only)
{
    ms_error err = {0};
    ms_backend *backend = NULL;
    ms_replay_result result;
    const ms_replay_options options = {.allocator = {.kind = MS_ALLOCATOR_CUDA},
                                       .is_memory_only = is_memory_only,
                                       .keeps_host_copies = !is_memory_only};
    if (ms_replay_host_open(host, &backend, &err) != MS_OK)
        return;
    if (ms_replay_run(backend, trace, &options, &result, &err) != MS_OK)
        assert(err.text[0]);
    ms_replay_free(&result);
    backend->calls->close(backend);
}

static void replay_all(const ms_trace *trace)
{
    ms_error err = {0};
    if (ms_replay_check(trace, &err) != MS_OK) {
        assert(err.text[0]);
        return;
    }
    if (work_of(trace) < 16 * MIB)
        replay(trace, &hosts[0], false);
    replay(trace, &hosts[1], false);
    replay(trace, &hosts[1], true);
}

static void use(const ms_trace *trace)
{
    ms_profile profile;
    ms_error err = {0};
    for (int kind = 0; kind < MS_ALLOCATOR_COUNT; kind++)
        measure(trace, (ms_allocator_kind)kind);
    if (ms_profile_build(trace, &device, MS_ALLOCATOR_CUDA, &profile, &err) == MS_OK)
        ms_profile_free(&profile);
    free(ms_lifetimes_create(trace));
    replay_all(trace);
    char text[64];
    for (uint32_t i = 0; i < trace->storages.count; i++)
        (void)ms_trace_formula(trace, &trace->storages.items[i], text, sizeof text);
}

static char *written(const ms_trace_file *file, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    if (!out)
        return NULL;
    ms_trace_write(&file->trace, &file->facts, out);
    fclose(out);
    return text;
}

static ms_status read_bytes(const void *data, size_t size, ms_trace_file *read, ms_error *err)
{
    FILE *file = fmemopen((void *)(uintptr_t)data, size, "r");
    if (!file)
        return MS_ERR_NOMEM;
    ms_status status = ms_trace_read(file, "fuzz.jsonl", read, err);
    fclose(file);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ms_trace_file first, second;
    ms_error err = {0};
    size_t length = 0, again_length = 0;
    if (size == 0 || read_bytes(data, size, &first, &err) != MS_OK) {
        assert(size == 0 || err.text[0] || err.status == MS_OK);
        return 0;
    }
    use(&first.trace);
    char *text = written(&first, &length);
    if (text && read_bytes(text, length, &second, &err) == MS_OK) {
        char *again = written(&second, &again_length);
        assert(!again || (length == again_length && memcmp(text, again, length) == 0));
        free(again);
        ms_trace_free(&second.trace);
    } else {
        assert(!text);
    }
    free(text);
    ms_trace_free(&first.trace);
    return 0;
}
