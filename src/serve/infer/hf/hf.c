/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/hf/hf.h"

#include <stdlib.h>
#include <string.h>

#include "input/config/model/model_config.h"
#include "run/measure/player.h"
#include "run/step/inference/generation.h"
#include "serve/infer/hf/formats.h"
#include "serve/infer/hf/run.h"
#include "serve/infer/kit/result.h"

/* ---- play ---- */

/* The events of a generation, played through PyTorch's allocator pass by pass, and what is
 * allocated when a phase is at its peak, by part. */

typedef struct ms_hf_peak {
    uint64_t allocated, end_allocated, reserved; /* bytes: at the peak; at the end; at most */
    uint64_t parts[MS_INFER_PARTS];              /* at the peak; their sum is `allocated` */
} ms_hf_peak;

typedef struct ms_hf_play {
    ms_player player;
    ms_usage usage;
    uint64_t limit;                /* bytes that may be reserved; 0: any */
    uint32_t capacity;             /* rows of the tables of blocks */
    uint64_t live[MS_INFER_PARTS]; /* allocated now */
    ms_hf_peak load, prefill, decode;
} ms_hf_play;

static inline bool ms_hf_play_failed(const ms_hf_play *play)
{
    return play->usage.out_of_memory;
}

/* Within a limit the allocator gives back what it can before it fails; then it goes on without one,
 * and `reserved` is the least that is needed. MS_ERR_NOMEM; end it also then. */
static ms_status hf_play_begin(ms_hf_play *play, const ms_allocator_options *options,
                               uint64_t limit, ms_error *err)
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

static void hf_play_end(ms_hf_play *play)
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

/* What feeds it; the play must outlive it. */
static ms_generation_reader hf_play_reader(ms_hf_play *play)
{
    return (ms_generation_reader){read, play};
}

/* ---- parts ---- */

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

/* The parts of a peak, whose sum is what is reserved; `cells` of `layers` are in the cache. */
static bool add_parts(const ms_hf_peak *peak, ms_infer_phase phase, uint64_t cells, uint64_t layers,
                      ms_infer_result *result)
{
    bool ok = true;
    for (int part = 0; part < MS_INFER_PARTS; part++) {
        bool has_cells = part == MS_INFER_CACHE && layers > 0;
        bool is_rest = part == MS_INFER_UNUSED;
        uint64_t bytes = is_rest ? peak->reserved - peak->allocated : peak->parts[part];
        const ms_infer_buffer row = {.part = (ms_infer_part)part,
                                     .place = "cuda:0",
                                     .phases = MS_INFER_IN(phase),
                                     .low = bytes,
                                     .bytes = bytes,
                                     .high = bytes,
                                     .cells = has_cells ? cells : 0,
                                     .layers = has_cells ? layers : 0};
        ok = ok && add_part(result, &row);
    }
    return ok;
}

static bool add_all_parts(const ms_infer_job *job, const ms_hf_run *r,
                          const ms_simulation *simulation, const ms_hf_play *play,
                          ms_infer_result *result)
{
    const ms_generation *g = &r->generation;
    uint64_t layers = job->config->num_layers, last = g->prompt + g->tokens - 1;
    uint64_t room = g->has_static_cache ? last + 1 : 0, source = 0;
    if (job->config->family->has_no_attention)
        layers = 0; /* states are no cells */
    if (ms_hf_translates(job->config)) {
        layers = job->config->decoder_layers;
        source = ms_hf_source(job);
    }
    return ms_infer_add_exact(result, MS_INFER_WEIGHTS, "cpu", MS_INFER_HOST,
                              simulation->host_weight_bytes) &&
           add_parts(&play->load, MS_INFER_LOAD, 0, layers, result) &&
           add_parts(&play->prefill, MS_INFER_PREFILL, room ? room : source + g->prompt, layers,
                     result) &&
           (g->tokens == 1 ||
            add_parts(&play->decode, MS_INFER_DECODE, room ? room : source + last, layers, result));
}

/* ---- the result ---- */

/* What the user calls the prompt: of text it is the source. */
static uint64_t prompt_of(const ms_infer_job *job, const ms_generation *g)
{
    bool is_source = ms_hf_translates(job->config) && !job->config->source_positions;
    return is_source ? ms_hf_source(job) : g->prompt;
}

static bool add_figures(const ms_infer_job *job, const ms_hf_run *r,
                        const ms_simulation *simulation, const ms_hf_play *p,
                        ms_infer_result *result)
{
    const ms_infer_figure figures[] = {{"parameters", simulation->param_count},
                                       {"prompt", prompt_of(job, &r->generation)},
                                       {"generate", r->generation.tokens},
                                       {"load_allocated_bytes", p->load.allocated},
                                       {"load_reserved_bytes", p->load.reserved},
                                       {"prefill_peak_allocated_bytes", p->prefill.allocated},
                                       {"prefill_end_allocated_bytes", p->prefill.end_allocated},
                                       {"prefill_reserved_bytes", p->prefill.reserved},
                                       {"decode_peak_allocated_bytes", p->decode.allocated},
                                       {"decode_end_allocated_bytes", p->decode.end_allocated},
                                       {"decode_reserved_bytes", p->decode.reserved}};
    size_t count = sizeof figures / sizeof figures[0] - (r->generation.tokens == 1 ? 3 : 0);
    for (size_t i = 0; i < count; i++)
        if (!ms_infer_figure_add(result, figures[i].name, figures[i].value))
            return false;
    return true;
}

/* Whether generate() runs experts as batches while it decodes, and other passes do not. */
static bool decodes_in_batches(const ms_infer_job *job, const ms_hf_run *r)
{
    return job->config->num_experts > 0 && !r->generation.is_call &&
           !job->config->family->batched_experts_only && r->run.experts != MS_EXPERTS_EAGER;
}

/* Where generate() does otherwise than calls of the model, and data decide. */
static bool add_differences(const ms_infer_job *job, const ms_hf_run *r, ms_infer_result *result)
{
    const char *format = ms_hf_format_note(job, &r->run.quantization);
    const struct {
        bool applies;
        const char *text;
    } rows[] = {
        {decodes_in_batches(job, r),
         "generate() runs experts differently while it decodes: see loop generate"},
        {r->generation.has_static_cache, "generate() compiles decoding with a static cache; the "
                                         "figures are for calls that are not compiled"},
        {job->config->long_rotary, "generate() drops the cache where the context passes "
                                   "original_max_position_embeddings"},
        {format != NULL, format},
        {r->generation.packing.kind == MS_CACHE_QUANTO,
         "cache quanto: quanto's own kernel unpacks keys and values, which needs nvcc"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].applies && !ms_vec_push(&result->notes, rows[i].text))
            return false;
    return true;
}

static bool add_notes(const ms_infer_job *job, const ms_hf_run *r, const ms_hf_play *play,
                      ms_infer_result *result)
{
    static const char sampled[] =
        "not every token's pass was simulated: reserved memory during generation may differ";
    static const char full[] = "the device is full: the figures are the least that is needed";
    if (ms_hf_play_failed(play) && !ms_vec_push(&result->notes, full))
        return false;
    if (ms_generation_is_sampled(job->config, &r->generation) &&
        !ms_vec_push(&result->notes, sampled))
        return false;
    return add_differences(job, r, result);
}

static bool add_levers(const ms_infer_job *job, const ms_hf_run *r, ms_infer_result *result)
{
    enum { STEP = 256, MOST_CONTEXT = 1 << 20, MOST_BATCH = 1024, MOST_TRIED = 1 << 13 };
    const ms_generation *g = &r->generation;
    uint64_t learned = job->config->max_positions, all = job->config->num_layers + 1;
    const ms_infer_lever layers = {
        "gpu-layers", r->run.has_host_layers ? r->run.device_layers : all, 0, all, 1, false, 0};
    const ms_infer_lever context = {"context", prompt_of(job, g) + g->tokens,
                                    STEP,      learned ? learned : MOST_CONTEXT,
                                    STEP,      !learned,
                                    0};
    const ms_infer_lever batch = {"batch", r->run.batch, 1, MOST_BATCH, 1, true, 0};
    bool is_free = !ms_hf_reads_once(job->config) &&
                   g->packing.kind == MS_CACHE_PLAIN && /* all of its passes are run */
                   !ms_infer_settings_has(job->settings, "generate") &&
                   !ms_infer_settings_has(job->settings, "prompt");
    bool is_packed = ms_is_packed(&r->run.quantization);
    bool is_slow = g->packing.kind != MS_CACHE_PLAIN && /* a trial runs all of them, too */
                   g->tokens * job->config->num_layers > MOST_TRIED;
    if (is_slow && job->settings->fit == MS_INFER_FIT_NONE)
        return true;
    return (!is_free || ms_vec_push(&result->levers, context)) &&
           ms_vec_push(&result->levers, batch) &&
           (is_packed || ms_hf_translates(job->config) || ms_vec_push(&result->levers, layers));
}

static bool fill(const ms_infer_job *job, const ms_hf_run *r, const ms_simulation *simulation,
                 const ms_hf_play *play, ms_infer_result *result)
{
    result->devices = 1;
    result->context = prompt_of(job, &r->generation);
    if (!ms_hf_reads_once(job->config))
        result->context += r->generation.tokens;
    result->weights_type = ms_dtype_info_of(r->run.dtype)->short_name;
    if (ms_is_packed(&r->run.quantization))
        result->packed_type = ms_quantization_text(job->arena, &r->run.quantization);
    bool is_named = result->packed_type || !ms_is_packed(&r->run.quantization);
    return is_named && add_all_parts(job, r, simulation, play, result) &&
           add_figures(job, r, simulation, play, result) && add_notes(job, r, play, result) &&
           add_levers(job, r, result);
}

/* Where nothing is left of the budget beside a context of so many bytes, 1: 0 is no limit. */
static uint64_t limit_of(const ms_infer_job *job, uint64_t context)
{
    if (job->budget_bytes == 0)
        return 0;
    return job->budget_bytes > context ? job->budget_bytes - context : 1;
}

/* Within so many reserved bytes. *failed: they are not enough, and the result may be left empty. */
static ms_status predict(const ms_infer_job *job, const ms_hf_run *r, uint64_t limit,
                         bool is_wanted, bool *failed, ms_infer_result *result, ms_error *err)
{
    ms_hf_play play;
    ms_simulation simulation;
    const ms_generation_reader reader = hf_play_reader(&play);
    ms_status status = hf_play_begin(&play, &r->run.allocator, limit, err);
    if (status == MS_OK)
        status = ms_step_generate(job->config, &r->run, &r->generation, &reader, &simulation, err);
    if (status == MS_OK) {
        *failed = ms_hf_play_failed(&play);
        if ((is_wanted || !*failed) && !fill(job, r, &simulation, &play, result))
            status = ms_infer_no_memory(err);
        ms_simulation_free(&simulation);
    }
    hf_play_end(&play);
    return status;
}

ms_infer_takes ms_hf_takes(const ms_model_config *config)
{
    bool is_known =
        config->family->takes_cache || ms_hf_reads_once(config) || ms_hf_translates(config);
    return is_known ? MS_INFER_TAKES_CONFIG : MS_INFER_TAKES_NONE;
}

/* First beside the largest context that there may be: what then fits is safe. */
ms_status ms_hf_infer(const ms_infer_job *job, ms_infer_result *result, ms_error *err)
{
    ms_hf_run r = {.generation = {0}};
    bool failed = false;
    ms_status status = ms_hf_run_resolve(job, &r, err);
    if (status == MS_OK)
        status = predict(job, &r, limit_of(job, job->device->context_high_bytes), false, &failed,
                         result, err);
    if (status == MS_OK && failed)
        status = predict(job, &r, limit_of(job, job->device->context_expected_bytes), true, &failed,
                         result, err);
    return status;
}
