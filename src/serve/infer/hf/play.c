/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/hf/play.h"

#include <stdlib.h>
#include <string.h>

ms_status ms_hf_play_begin(ms_hf_play *play, const ms_allocator_options *options, uint64_t limit,
                           ms_error *err)
{
    ms_allocator_options limited = *options;
    limited.capacity_bytes = limit;
    *play = (ms_hf_play){.limit = limit, .usage = {.steady_first_event = UINT32_MAX}};
    play->player.goes_on = true;
    play->player.allocator = ms_allocator_create(&limited);
    if (!play->player.allocator)
        return ms_infer_no_memory(err);
    play->player.stats = ms_allocator_stats_of(play->player.allocator);
    return MS_OK;
}

void ms_hf_play_end(ms_hf_play *play)
{
    free(play->player.blocks);
    ms_allocator_free(play->player.allocator);
    ms_usage_free(&play->usage);
}

/* Room for what each storage was handed. */
static bool make_room(ms_hf_play *play, uint32_t storages)
{
    if (storages <= play->capacity)
        return true;
    uint32_t capacity = storages < UINT32_MAX / 2 ? 2 * storages : storages;
    ms_block *blocks = realloc(play->player.blocks, capacity * sizeof *blocks);
    if (blocks)
        play->player.blocks = blocks;
    uint64_t *bytes = realloc(play->usage.block_bytes, capacity * sizeof *bytes);
    if (bytes)
        play->usage.block_bytes = bytes;
    if (!blocks || !bytes)
        return false;
    memset(blocks + play->capacity, 0, (capacity - play->capacity) * sizeof *blocks);
    memset(bytes + play->capacity, 0, (capacity - play->capacity) * sizeof *bytes);
    play->capacity = capacity;
    return true;
}

/* ---- parts ---- */

static ms_infer_part part_of(const ms_storage *storage)
{
    bool is_built =
        storage->category == MS_CATEGORY_WEIGHT || storage->category == MS_CATEGORY_BUFFER;
    return storage->is_cached                           ? MS_INFER_CACHE
           : is_built                                   ? MS_INFER_WEIGHTS
           : storage->category == MS_CATEGORY_WORKSPACE ? MS_INFER_WORKSPACE
                                                        : MS_INFER_ACTIVATIONS;
}

static void count(ms_hf_play *play, const ms_trace *trace, ms_event e)
{
    uint64_t *live = &play->live[part_of(&trace->storages.items[e.id])];
    if (e.kind == MS_EVENT_ALLOC)
        *live += play->usage.block_bytes[e.id];
    if (e.kind == MS_EVENT_FREE)
        *live -= play->usage.block_bytes[e.id];
}

/* All events of the window; what is alive after event `at` is copied. */
static void count_all(ms_hf_play *play, const ms_trace *trace, uint32_t at,
                      uint64_t parts[MS_INFER_PARTS])
{
    for (uint32_t i = 0; i < trace->events.count; i++) {
        const ms_event e = trace->events.items[i];
        if (e.kind == MS_EVENT_ALLOC || e.kind == MS_EVENT_FREE)
            count(play, trace, e);
        if (i == at)
            memcpy(parts, play->live, sizeof play->live);
    }
}

/* ---- passes ---- */

/* Once the device is full, what is allocated has to be there, and more than there is. */
static uint64_t needed(const ms_hf_play *play, uint64_t allocated, uint64_t reserved)
{
    enum { SEGMENT = 2 << 20 };
    if (!ms_hf_play_failed(play))
        return reserved;
    return allocated > play->limit ? allocated : play->limit + SEGMENT;
}

static void note_load(ms_hf_play *play, const ms_trace *trace)
{
    const ms_allocator_stats *now = play->player.stats;
    play->load.allocated = play->load.end_allocated = now->allocated_bytes;
    play->load.reserved = needed(play, now->allocated_bytes, now->reserved_bytes);
    count_all(play, trace, trace->events.count - 1, play->load.parts);
}

static void note_pass(ms_hf_play *play, const ms_trace *trace, ms_hf_peak *peak)
{
    const ms_phase_usage pass = play->usage.phases.items[play->usage.phases.count - 1];
    uint64_t parts[MS_INFER_PARTS] = {0};
    count_all(play, trace, pass.peak_event, parts);
    if (pass.peak_bytes > peak->allocated) {
        peak->allocated = pass.peak_bytes;
        memcpy(peak->parts, parts, sizeof parts);
    }
    peak->end_allocated = pass.end_bytes;
    uint64_t reserved = needed(play, pass.peak_bytes, pass.peak_reserved_bytes);
    if (reserved > peak->reserved)
        peak->reserved = reserved;
    play->usage.phases.count = 0;
}

static ms_status read(void *context, const ms_trace *trace, ms_error *err)
{
    ms_hf_play *play = context;
    ms_player *player = &play->player;
    player->trace = trace;
    player->usage = &play->usage;
    if (!make_room(play, trace->storages.count))
        return ms_infer_no_memory(err);
    ms_status status = ms_play(player, 0, trace->events.count, err);
    if (status != MS_OK)
        return status;
    uint16_t step = ms_last_step_of(trace);
    if (step == 0)
        note_load(play, trace);
    else
        note_pass(play, trace, step == 1 ? &play->prefill : &play->decode);
    return MS_OK;
}

ms_generation_reader ms_hf_play_reader(ms_hf_play *play)
{
    return (ms_generation_reader){read, play};
}
