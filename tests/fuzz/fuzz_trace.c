/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A trace file: what is accepted can be measured, timed, listed and written, and reads as itself.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "ledger/events.h"
#include "measure/lifetime.h"
#include "measure/profile.h"
#include "measure/schedule.h"
#include "trace/trace_read.h"

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

static void use(const ms_trace *trace)
{
    ms_profile profile;
    ms_error err = {0};
    for (int kind = 0; kind < MS_ALLOCATOR_COUNT; kind++)
        measure(trace, (ms_allocator_kind)kind);
    if (ms_profile_build(trace, &device, MS_ALLOCATOR_CUDA, &profile, &err) == MS_OK)
        ms_profile_free(&profile);
    free(ms_lifetimes_create(trace));
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
