/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/stream/table.h"

#include "serve/stream/run_trace.h"

/* ---- memory ---- */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* What the pass itself needs counts, not the way to it; no limit, so that it is known how much is
 * missing. */
static ms_status measure(const ms_place_trace *placed, const ms_run_config *run, ms_stream_row *row,
                         ms_error *err)
{
    ms_allocator_options options = run->allocator;
    ms_usage usage;
    options.capacity_bytes = 0;
    ms_status status = ms_usage_measure(&placed->trace, &options, &usage, err);
    if (status != MS_OK)
        return status;
    for (uint32_t i = 0; i < placed->places; i++)
        row->places_bytes += usage.block_bytes[placed->first_place + i];
    usage.most_reserved_bytes = usage.peak_reserved_bytes;
    row->peak_bytes = usage.peak_bytes;
    row->reserved_bytes = usage.peak_reserved_bytes;
    row->outside_bytes = usage.after_build_bytes - row->places_bytes;
    row->judgement = ms_judge(NULL, run, &usage, NULL);
    ms_usage_free(&usage);
    return MS_OK;
}

static ms_status fill_memory(const ms_simulation *simulation, const ms_run_config *run,
                             const ms_stream_table *table, ms_stream_row *row, ms_error *err)
{
    ms_place_trace placed;
    ms_status status =
        ms_stream_place_trace_make(&simulation->trace, &table->pass, row->places, &placed, err);
    if (status != MS_OK)
        return status;
    status = measure(&placed, run, row, err);
    ms_stream_place_trace_free(&placed);
    if (status != MS_OK)
        return status;
    uint64_t kept = row->places_bytes + row->outside_bytes;
    row->cache_bytes = least(table->cache_bytes, row->peak_bytes - kept);
    row->other_bytes = row->peak_bytes - kept - row->cache_bytes;
    row->pinned_bytes = ms_stream_buffers(&table->pass, row->places) * table->pass.slot_bytes;
    return MS_OK;
}

/* ---- rows ---- */

static ms_stream_row row_of(const ms_stream_table *table, uint64_t prefetch)
{
    uint32_t layers = table->pass.layers.count;
    uint64_t clamped = least(prefetch, layers - 1);
    return (ms_stream_row){
        .prefetch = clamped, .places = (uint32_t)clamped + 1, .stays = clamped + 1 == layers};
}

static ms_status add_row(const ms_simulation *simulation, const ms_run_config *run,
                         ms_stream_table *table, uint64_t prefetch, ms_error *err)
{
    ms_stream_row row = row_of(table, prefetch);
    uint32_t count = table->rows.count;
    if (count > 0 && table->rows.items[count - 1].prefetch == row.prefetch)
        return MS_OK; /* both are clamped */
    ms_status status = fill_memory(simulation, run, table, &row, err);
    if (status == MS_OK && table->pass.is_timed)
        status = ms_stream_clock_play(&table->pass, row.prefetch, &row.times, err);
    if (row.times.pass_ms > 0)
        row.tokens_per_s = (double)table->tokens * 1e3 / row.times.pass_ms;
    if (status == MS_OK && !ms_vec_push(&table->rows, row))
        status = ms_fail(err, MS_ERR_NOMEM, "no memory for the rows of a stream");
    return status;
}

static ms_status add_rows(const ms_simulation *simulation, const ms_run_config *run,
                          const ms_stream_prefetches *prefetches, ms_stream_table *table,
                          ms_error *err)
{
    ms_status status = MS_OK;
    for (uint32_t i = 0; i < prefetches->counts.count && status == MS_OK; i++) {
        table->most_asked = prefetches->counts.items[i];
        status = add_row(simulation, run, table, table->most_asked, err);
    }
    return status;
}

/* ---- all of it ---- */

static ms_status read_simulation(const ms_simulation *simulation, const ms_run_config *run,
                                 const ms_stream_prefetches *prefetches, ms_stream_table *table,
                                 ms_error *err)
{
    table->param_count = simulation->param_count;
    table->cache_bytes = simulation->cache_bytes;
    ms_status status = ms_stream_pass_read(&simulation->trace, run->device, &table->pass, err);
    if (status == MS_OK && table->pass.is_timed)
        status = ms_stream_clock_enough(&table->pass, &table->enough, err);
    return status == MS_OK ? add_rows(simulation, run, prefetches, table, err) : status;
}

ms_status ms_stream_table_build(const ms_model_config *model, const ms_run_config *run,
                                ms_inference_phase phase, const ms_stream_prefetches *prefetches,
                                ms_stream_table *table, ms_error *err)
{
    const ms_inference inference = {.phase = phase, .passes = 1};
    ms_simulation simulation;
    *table = (ms_stream_table){.phase = phase,
                               .tokens = run->batch *
                                         (phase == MS_INFERENCE_DECODE ? 1 : run->seq_tokens)};
    if (run->device->is_cpu)
        return ms_fail(err, MS_ERR_CONFIG,
                       "device: weights stream from the host to a GPU, but cpu is the host itself");
    ms_status status = ms_step_infer(model, run, &inference, &simulation, err);
    if (status != MS_OK)
        return status;
    status = read_simulation(&simulation, run, prefetches, table, err);
    ms_simulation_free(&simulation);
    if (status != MS_OK)
        ms_stream_table_free(table);
    return status;
}

void ms_stream_table_free(ms_stream_table *table)
{
    ms_stream_pass_free(&table->pass);
    ms_vec_free(&table->rows);
}

bool ms_stream_table_fits(const ms_stream_table *table)
{
    for (uint32_t i = 0; i < table->rows.count; i++)
        if (ms_reason_fits(table->rows.items[i].judgement.reason))
            return true;
    return false;
}

const char *ms_stream_phase_at(size_t index)
{
    return index < MS_INFERENCE_PHASES ? ms_inference_phase_names[index] : NULL;
}
