/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tables of built-in models and devices.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "config/model/input.h"
#include "config/names/preset.h"
#include "config/names/no_config.h"
#include "base/error.h"
#include "base/locale.h"
#include "text/output.h"
#include "model/load.h"
#include "text/nearest.h"
#include "device/device.h"
#include "infer/engines.h"
#include "json/embedded.h"
#include "json/value.h"
#include "memscope/memscope.h"
#include "plan/solver/solver.h"
#include "report/others/schema_page.h"
#include "simulate/simulate.h"

static ms_status finish(FILE *out, ms_error *err)
{
    return ms_output_finish(out, "to the output", err);
}

/* "8.03 B", "134.5 M"; "-" for 0. */
static const char *count_text(char *out, size_t size, uint64_t count)
{
    if (count >= 1000000000)
        ms_text_print(out, size, "%.2f B", (double)count / 1e9);
    else if (count > 0)
        ms_text_print(out, size, "%.1f M", (double)count / 1e6);
    else
        snprintf(out, size, "-");
    return out;
}

/* The model alone is built, by default settings. */
static ms_status write_model(ms_arena *arena, const char *name, FILE *out, ms_error *err)
{
    const ms_run_setting setting = {"config", name};
    ms_model_config m = {0};
    ms_run_config run;
    ms_simulated simulated;
    char total[16], active[16], engines[MS_INFER_TAKERS_SIZE];
    ms_status status = ms_run_load(arena, &setting, 1, &m, &run, NULL, err);
    const ms_job job = {.model = &m, .run = &run};
    if (status == MS_OK)
        status = ms_simulate(&job, MS_SIMULATE_MODEL, &simulated, err);
    if (status != MS_OK)
        return status;
    const ms_simulation *built = &simulated.simulation;
    ms_infer_engine_takers(&m, " ", engines);
    bool sparse = built->active_param_count < built->param_count;
    fprintf(out,
            "%-25s %-16s %9s %9s %6" PRIu64 " %6" PRIu64 " %6" PRIu64 " %5" PRIu64 " %8" PRIu64
            " %7" PRIu64 "  %s\n",
            name, m.model_type, count_text(total, sizeof total, built->param_count),
            count_text(active, sizeof active, sparse ? built->active_param_count : 0), m.num_layers,
            m.hidden_size, m.num_heads, m.num_kv_heads, m.intermediate_size, m.vocab_size,
            *engines ? engines : "-");
    ms_simulated_free(&simulated);
    return MS_OK;
}

/* Whether a text has the part, whatever its case. */
static bool holds(const char *text, const char *part)
{
    size_t bytes = strlen(part);
    for (; strlen(text) >= bytes; text++)
        if (strncasecmp(text, part, bytes) == 0)
            return true;
    return false;
}

static ms_status write_models(ms_arena *arena, const char *part, FILE *out, ms_error *err)
{
    bool has_one = false;
    const char *name;
    for (size_t i = 0; (name = ms_preset_name(i)) != NULL; i++) {
        if (part && !holds(name, part))
            continue;
        if (!has_one)
            fprintf(out, "%-25s %-16s %9s %9s %6s %6s %6s %5s %8s %7s  %s\n", "NAME", "FAMILY",
                    "PARAMS", "ACTIVE", "LAYERS", "HIDDEN", "HEADS", "KV", "MLP", "VOCAB", "INFER");
        has_one = true;
        ms_status status = write_model(arena, name, out, err);
        if (status != MS_OK)
            return status;
    }
    if (has_one)
        return finish(out, err);
    return ms_fail(err, MS_ERR_USAGE, "no built-in model has '%.40s' in its name", part);
}

ms_status ms_write_models(const char *part, FILE *out, ms_error *err)
{
    if (!out)
        return ms_fail_null(err);
    ms_arena *arena = ms_arena_create(0);
    if (!arena)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the list of models");
    ms_status status = write_models(arena, part, out, err);
    ms_arena_free(arena);
    return status;
}

const char *ms_model_name_at(size_t index)
{
    return ms_preset_name(index);
}

bool ms_model_suggest(const char *name, ms_error *err)
{
    return name && ms_config_suggest(name, err);
}

bool ms_model_is_named(const char *name)
{
    struct stat info;
    return name && (ms_is_preset(name) || stat(name, &info) == 0);
}

/* Names, as in configs/devices.json, of the cells that are shown. */
#define DRIVER "driver_mib"
#define CUDA "cuda_mib"
#define MEMORY "memory_gb_per_s"
#define BF16 "bf16_tflops"
#define HOST "host_link_gb_per_s"
#define PEER "peer_link_gb_per_s"

/* The mark behind a cell: whether its value lacks a source. */
static char mark_of(const ms_device *d, const char *cell)
{
    return strstr(d->unchecked, cell) ? '?' : ' ';
}

/* Hundredths of a GiB; "-" when the size is not known. */
static void put_gib(FILE *out, uint64_t bytes, char mark)
{
    const uint64_t gib = UINT64_C(1) << 30;
    uint64_t hundredths = bytes / gib * 100 + (bytes % gib * 100 + gib / 2) / gib;
    if (bytes)
        fprintf(out, " %5" PRIu64 ".%02" PRIu64 "%c", hundredths / 100, hundredths % 100, mark);
    else
        fprintf(out, " %8s ", "-");
}

static void put_rate(FILE *out, double per_s, double unit, char mark)
{
    if (per_s > 0)
        ms_file_print(out, " %7.0f%c", per_s / unit, mark);
    else
        fprintf(out, " %7s ", "-");
}

static void put_device(FILE *out, const ms_device *d)
{
    fprintf(out, "%-16s", d->name);
    put_gib(out, d->driver_bytes, mark_of(d, DRIVER));
    put_gib(out, d->cuda_bytes, mark_of(d, CUDA));
    if (d->compute_capability)
        fprintf(out, " %4" PRIu32 ".%" PRIu32, d->compute_capability / 10,
                d->compute_capability % 10);
    else
        fprintf(out, " %6s", "-");
    put_rate(out, d->memory_bytes_per_s, 1e9, mark_of(d, MEMORY));
    put_rate(out, d->bf16_flops, 1e12, mark_of(d, BF16));
    put_rate(out, d->host_link_bytes_per_s, 1e9, mark_of(d, HOST));
    put_rate(out, d->peer_link_bytes_per_s, 1e9, mark_of(d, PEER));
    fprintf(out, " %s\n", d->title);
}

static ms_status write_devices(const ms_device *devices, uint32_t count, const char *part,
                               FILE *out, ms_error *err)
{
    bool has_one = false;
    for (uint32_t i = 0; i < count; i++) {
        if (part && !holds(devices[i].name, part) && !holds(devices[i].title, part))
            continue;
        if (!has_one) {
            fprintf(out, "%-16s %8s  %8s  %6s %7s  %7s  %7s  %7s\n", "", "DRIVER", "CUDA", "",
                    "MEMORY", "BF16", "HOST", "PEER");
            fprintf(out, "%-16s %8s  %8s  %6s %7s  %7s  %7s  %7s\n", "NAME", "GiB", "GiB", "CC",
                    "GB/s", "TFLOP/s", "GB/s", "GB/s");
        }
        has_one = true;
        put_device(out, &devices[i]);
    }
    if (!has_one)
        return ms_fail(err, MS_ERR_USAGE, "no built-in device has '%.40s' in its name", part);
    fputs("\n?: from general knowledge, not checked against a source; -: not known\n", out);
    return finish(out, err);
}

ms_status ms_write_devices(const char *part, FILE *out, ms_error *err)
{
    if (!out)
        return ms_fail_null(err);
    ms_arena *arena = ms_arena_create(0);
    const ms_device *devices = NULL;
    uint32_t count = 0;
    if (!arena)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the list of devices");
    ms_status status = ms_devices_load(arena, &devices, &count, err);
    if (status == MS_OK)
        status = write_devices(devices, count, part, out, err);
    ms_arena_free(arena);
    return status;
}

const char *ms_schema_name(size_t index)
{
    return index < ms_embedded_schema_count ? ms_embedded_schemas[index].name : NULL;
}

static const ms_embedded *find_schema(const char *name, ms_error *err)
{
    char hint[96];
    ms_nearest nearest = ms_nearest_to(name);
    for (size_t i = 0; i < ms_embedded_schema_count; i++) {
        if (ms_name_equal(ms_embedded_schemas[i].name, name))
            return &ms_embedded_schemas[i];
        ms_nearest_offer(&nearest, ms_embedded_schemas[i].name);
    }
    ms_error_set(err, MS_ERR_USAGE, "no schema '%.40s'%s", name,
                 ms_nearest_hint(&nearest, hint, sizeof hint));
    return NULL;
}

ms_status ms_write_schema(const char *name, FILE *out, ms_error *err)
{
    if (!name || !out)
        return ms_fail_null(err);
    const ms_embedded *schema = find_schema(name, err);
    if (!schema)
        return MS_ERR_USAGE;
    fwrite(schema->text, 1, schema->length, out);
    return finish(out, err);
}

ms_status ms_write_schema_page(const char *name, const char *page, FILE *out, ms_error *err)
{
    if (!name || !page || !out)
        return ms_fail_null(err);
    const ms_embedded *schema = find_schema(name, err);
    if (!schema)
        return MS_ERR_USAGE;
    ms_status status = ms_schema_page_write(schema, page, out, err);
    return status == MS_OK ? finish(out, err) : status;
}

ms_status ms_write_version(FILE *out, ms_error *err)
{
    if (!out)
        return ms_fail_null(err);
    fprintf(out, "memscope %s\nreport schema %s, GLPK %s, cJSON %s\n", MS_VERSION,
            MS_REPORT_SCHEMA_VERSION, ms_solver_version(), ms_json_version());
    return finish(out, err);
}
