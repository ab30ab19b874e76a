/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "infer/hf/parts.h"

#include <stdlib.h>

#include "measure/lifetime.h"

ms_hf_peak ms_hf_peak_of_load(const ms_trace *trace, const ms_usage *usage)
{
    ms_hf_peak peak = {.phase = MS_INFER_LOAD,
                       .allocated = usage->after_build_bytes,
                       .end_allocated = usage->after_build_bytes,
                       .reserved = usage->after_build_reserved_bytes};
    while (peak.event < trace->events.count) {
        const ms_event e = trace->events.items[peak.event];
        if (e.kind == MS_EVENT_MARK && !trace->marks.items[e.id].begin)
            break;
        peak.event++;
    }
    return peak;
}

ms_hf_peak ms_hf_peak_of_passes(const ms_usage *usage, ms_infer_phase phase, uint32_t first,
                                uint32_t end)
{
    ms_hf_peak peak = {.phase = phase};
    for (uint32_t i = first; i < end; i++) {
        const ms_phase_usage *pass = &usage->phases.items[i];
        if (pass->peak_bytes > peak.allocated) {
            peak.allocated = pass->peak_bytes;
            peak.event = pass->peak_event;
        }
        peak.end_allocated = pass->end_bytes;
        if (pass->peak_reserved_bytes > peak.reserved)
            peak.reserved = pass->peak_reserved_bytes;
    }
    return peak;
}

static ms_infer_part part_of(const ms_storage *storage)
{
    bool is_built =
        storage->category == MS_CATEGORY_WEIGHT || storage->category == MS_CATEGORY_BUFFER;
    return storage->is_cached                           ? MS_INFER_CACHE
           : is_built                                   ? MS_INFER_WEIGHTS
           : storage->category == MS_CATEGORY_WORKSPACE ? MS_INFER_WORKSPACE
                                                        : MS_INFER_ACTIVATIONS;
}

/* One that is there already in another phase is the same. */
static bool add_part(ms_infer_result *result, const ms_infer_buffer *part)
{
    for (uint32_t i = 0; i < result->buffers.count; i++) {
        ms_infer_buffer *b = &result->buffers.items[i];
        if (b->part == part->part && b->bytes == part->bytes && b->cells == part->cells) {
            b->phases |= part->phases;
            return true;
        }
    }
    return ms_infer_add(result, *part);
}

ms_status ms_hf_parts_add(const ms_trace *trace, const ms_usage *usage, const ms_hf_peak *peak,
                          uint64_t cells, uint64_t layers, ms_infer_result *result, ms_error *err)
{
    uint64_t bytes[MS_INFER_PARTS] = {0};
    ms_lifetime *lifetimes = ms_lifetimes_create(trace);
    if (!lifetimes)
        return ms_infer_no_memory(err);
    for (uint32_t i = 0; i < trace->storages.count; i++)
        if (ms_lifetime_covers(lifetimes[i], peak->event))
            bytes[part_of(&trace->storages.items[i])] += usage->block_bytes[i];
    free(lifetimes);
    bytes[MS_INFER_UNUSED] = peak->reserved - peak->allocated;
    bool ok = true;
    for (int part = 0; part < MS_INFER_PARTS; part++) {
        bool is_cache = part == MS_INFER_CACHE;
        const ms_infer_buffer row = {.part = (ms_infer_part)part,
                                     .place = "cuda:0",
                                     .phases = MS_INFER_IN(peak->phase),
                                     .low = bytes[part],
                                     .bytes = bytes[part],
                                     .high = bytes[part],
                                     .cells = is_cache ? cells : 0,
                                     .layers = is_cache ? layers : 0};
        ok = ok && add_part(result, &row);
    }
    return ok ? MS_OK : ms_infer_no_memory(err);
}
