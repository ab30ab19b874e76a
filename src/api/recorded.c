/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "memscope/recorded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/output.h"
#include "decide/compare/compare.h"
#include "core/device/device.h"
#include "input/config/resolve/device_named.h"
#include "input/document/recorded.h"
#include "memscope/ranks.h"
#include "report/runtime/ranks.h"
#include "report/runtime/recorded_console.h"
#include "report/writers.h"

ms_recorded *ms_recorded_load(const char *path, ms_error *err)
{
    if (!path)
        return (void)ms_fail_null(err), NULL;
    ms_recorded *r = path ? calloc(1, sizeof *r) : NULL;
    if (!r) {
        ms_error_set(err, MS_ERR_NOMEM, "out of memory");
        return NULL;
    }
    r->style = (ms_style){.columns = 80};
    if (ms_recorded_open(r, path, err) == MS_OK)
        return r;
    ms_recorded_free(r);
    return NULL;
}

void ms_recorded_free(ms_recorded *r)
{
    if (!r)
        return;
    ms_recorded_close(r);
    free(r);
}

const char *ms_recorded_outcome(const ms_recorded *r)
{
    if (!r)
        return NULL;
    return r->outcome;
}

const char *ms_recorded_message(const ms_recorded *r)
{
    if (!r)
        return NULL;
    return r->message;
}

const char *ms_recorded_hint(const ms_recorded *r)
{
    if (!r)
        return NULL;
    return r->hint;
}

bool ms_recorded_has_figures(const ms_recorded *r)
{
    if (!r)
        return false;
    return r->has_figures || r->ledger;
}

uint64_t ms_recorded_steps(const ms_recorded *r)
{
    if (!r)
        return 0;
    return r->steps;
}

void ms_recorded_set_style(ms_recorded *r, const ms_style *style)
{
    if (!r || !style)
        return;
    r->style = *style;
}

ms_status ms_recorded_write(const ms_recorded *r, FILE *out, ms_error *err)
{
    if (!r || !out)
        return ms_fail_null(err);
    errno = 0;
    ms_status status = ms_recorded_console(r, out, err);
    return status == MS_OK ? ms_output_finish(out, "the console report", err) : status;
}

/* ---- ranks ---- */

void ms_rank_read(const ms_recorded *r, ms_rank *rank)
{
    if (!r || !rank)
        return;
    rank->has_figures = r->has_figures;
    rank->peak_bytes = r->peak_bytes;
    rank->reserved_bytes = r->reserved_bytes;
    snprintf(rank->outcome, sizeof rank->outcome, "%s", r->outcome);
    snprintf(rank->peak_stage, sizeof rank->peak_stage, "%s", r->peak_stage ? r->peak_stage : "");
}

size_t ms_ranks_worst(const ms_rank *ranks, size_t count)
{
    size_t found = SIZE_MAX;
    for (size_t i = 0; ranks && i < count; i++)
        if (ranks[i].has_figures &&
            (found == SIZE_MAX || ms_rank_compare(&ranks[found], &ranks[i]) > 0))
            found = i;
    return found;
}

ms_status ms_ranks_write(const ms_rank *ranks, size_t count, uint64_t world_size,
                         const char *format, const ms_style *style, FILE *out, ms_error *err)
{
    if (!ranks || !format || !out)
        return ms_fail_null(err);
    ms_ranks_view view = {.ranks = ranks,
                          .count = count,
                          .world_size = world_size,
                          .worst = ms_ranks_worst(ranks, count),
                          .style = style ? *style : (ms_style){.columns = 80}};
    bool is_json = strcmp(format, "json") == 0;
    if (!is_json && strcmp(format, "console") != 0)
        return ms_fail(err, MS_ERR_USAGE, "unknown format '%.40s', expected console or json",
                       format);
    errno = 0;
    if (is_json)
        ms_ranks_json(&view, out);
    else if (ms_ranks_console(&view, out, err) != MS_OK)
        return err->status;
    return ms_output_finish(out, "the ranks", err);
}

/* ---- two reports ---- */

const char *ms_compare_format_at(size_t index)
{
    return ms_writer_name_at(MS_DOCUMENT_COMPARE, index);
}

static ms_status write_comparison(const ms_recorded *first, const ms_recorded *second,
                                  const ms_writer *writer, FILE *out, ms_error *err)
{
    ms_compare_view view;
    ms_arena *arena = ms_arena_create(0);
    if (!arena)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for a comparison");
    ms_status status = ms_compare_view_make(arena, first, second, &view, err);
    if (status == MS_OK)
        status = ms_writer_write(writer, &view, arena, out, err);
    ms_arena_free(arena);
    return status;
}

ms_status ms_compare_write(const ms_recorded *first, const ms_recorded *second, const char *format,
                           FILE *out, ms_error *err)
{
    if (!first || !second || !format || !out)
        return ms_fail_null(err);
    const ms_recorded *both[] = {first, second};
    for (int i = 0; i < 2; i++)
        if (!both[i]->has_figures)
            return ms_fail(err, MS_ERR_CONFIG, "%.100s has no figures to compare", both[i]->path);
    if (!first->engine != !second->engine)
        return ms_fail(err, MS_ERR_CONFIG,
                       "%.100s is from an inference engine, but %.100s is from training steps",
                       (first->engine ? first : second)->path,
                       (first->engine ? second : first)->path);
    const ms_writer *writer = ms_writer_find(MS_DOCUMENT_COMPARE, format, err);
    return writer ? write_comparison(first, second, writer, out, err) : MS_ERR_USAGE;
}

/* ---- devices ---- */

/* What programs see where it is not known: the count of an A100, as most kernels do not ask. */
enum { ASSUMED_MULTIPROCESSORS = 108 };

static void fill_facts(const ms_device *device, ms_device_facts *facts)
{
    bool is_cuda = device->compute_capability > 0;
    uint32_t assumed = is_cuda ? ASSUMED_MULTIPROCESSORS : 0;
    *facts = (ms_device_facts){.compute_capability = device->compute_capability,
                               .multiprocessors =
                                   device->multiprocessors ? device->multiprocessors : assumed,
                               .total_bytes = ms_device_usable_bytes(device),
                               .bf16_flops = device->bf16_flops,
                               .memory_bytes_per_s = device->memory_bytes_per_s,
                               .l2_bytes = device->l2_bytes,
                               .driver_bytes = device->driver_bytes,
                               .fp32_flops = device->fp32_flops,
                               .host_link_bytes_per_s = device->host_link_bytes_per_s};
    snprintf(facts->name, sizeof facts->name, "%s", device->name);
    snprintf(facts->title, sizeof facts->title, "%s", device->title);
}

ms_status ms_device_at(size_t index, ms_device_facts *facts, ms_error *err)
{
    if (!facts)
        return ms_fail_null(err);
    const ms_device *devices = NULL;
    uint32_t count = 0;
    ms_arena *arena = ms_arena_create(0);
    *facts = (ms_device_facts){.name = ""};
    if (!arena)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the device table");
    ms_status status = ms_devices_load(arena, &devices, &count, err);
    if (status == MS_OK && index < count)
        fill_facts(&devices[index], facts);
    ms_arena_free(arena);
    return status;
}

ms_status ms_device_find(const char *name, ms_device_facts *facts, ms_error *err)
{
    if (!name || !facts)
        return ms_fail_null(err);
    char hint[MS_DEVICE_HINT_BYTES];
    const ms_device *devices = NULL, *found = NULL;
    uint32_t count = 0;
    ms_arena *arena = ms_arena_create(0);
    if (!arena)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for the device table");
    ms_status status = ms_devices_load(arena, &devices, &count, err);
    if (status == MS_OK)
        found = ms_device_named(devices, count, name, hint);
    if (found && found->compute_capability == 0)
        status = ms_fail(err, MS_ERR_USAGE, "device %.40s is not a CUDA device", found->name);
    else if (found)
        fill_facts(found, facts);
    else if (status == MS_OK)
        status = ms_fail(err, MS_ERR_USAGE, "unknown device '%.40s'%s", name, hint);
    ms_arena_free(arena);
    return status;
}
