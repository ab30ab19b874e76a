/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tables of built-in models and devices.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json/embedded.h"
#include "base/json/value.h"
#include "base/locale.h"
#include "base/text/nearest.h"
#include "base/text/output.h"
#include "base/utf8.h"
#include "core/device/device.h"
#include "decide/plan/solver/solver.h"
#include "input/config/adapter/adapter.h"
#include "input/config/model/input.h"
#include "input/config/model/model_config.h"
#include "input/config/names/hub.h"
#include "input/config/names/no_config.h"
#include "input/config/names/preset.h"
#include "input/config/run/liger.h"
#include "memscope/memscope.h"
#include "model/load.h"
#include "report/kit/list_table.h"
#include "report/others/schema_page.h"
#include "run/simulate/simulate.h"
#include "serve/infer/engines.h"

/* ---- known ---- */

/* What is predicted for a model, strategy by strategy, and why not. */

enum { MOST_SETTINGS = 4 };

/* A run that is tried: it is predicted, or refused with a sentence. */
typedef struct tried_run {
    const char *title;
    ms_run_setting settings[MOST_SETTINGS]; /* beside the model and the device */
} tried_run;

static const tried_run tried[] = {
    {"training", {{0}}},
    {"dp=N", {{"parallel", "dp=2"}}},
    {"fsdp=N", {{"parallel", "fsdp=2"}}},
    {"fsdp1=N", {{"parallel", "fsdp1=2"}}},
    {"ZeRO 1 and 2", {{"parallel", "zero=2,dp=2"}}},
    {"ZeRO-3", {{"parallel", "zero=3,dp=2"}}},
    {"tp=N", {{"parallel", "tp=2"}}},
    {"cp=N", {{"parallel", "fsdp=2,cp=2"}}},
    {"pp=N", {{"parallel", "pp=2,microbatches=2"}}},
    {"accelerate's units", {{"parallel", "fsdp=2"}, {"fsdp-units", "accelerate"}}},
    {"torchtitan's units", {{"parallel", "fsdp=2"}, {"fsdp-units", "torchtitan"}}},
    {"loss in chunks", {{"treat", "loss=chunk:4"}}},
    {"quantised base", {{"quantize", "nf4"}, {"lora", "r=8,targets=all-linear"}}},
    {"fp16", {{"dtype", "fp16"}}},
};

static void write_line(FILE *out, const char *title, const char *answer, const char *more)
{
    fprintf(out, "  %-19s %s%s%s\n", title, answer, *more ? ": " : "", more);
}

/* A message without the name of the field that it begins with. */
static const char *reason_of(const char *message)
{
    const char *colon = strstr(message, ": "), *space = strchr(message, ' ');
    return colon && space == colon + 1 ? colon + 2 : message;
}

static ms_status try_run(ms_arena *arena, const char *name, const tried_run *row, FILE *out)
{
    ms_run_setting settings[MOST_SETTINGS + 2] = {{"config", name}, {"device", "a100-80gb"}};
    size_t count = 2;
    for (size_t i = 0; i < MOST_SETTINGS && row->settings[i].field; i++)
        settings[count++] = row->settings[i];
    ms_model_config model = {0};
    ms_run_config run;
    ms_error err = {.status = MS_OK};
    ms_status status = ms_run_load(arena, settings, count, &model, &run, NULL, &err);
    if (status != MS_ERR_NOMEM)
        write_line(out, row->title, status == MS_OK ? "yes" : "no",
                   status == MS_OK ? "" : reason_of(err.text));
    return status == MS_ERR_NOMEM ? status : MS_OK;
}

static ms_status write_targets(ms_arena *arena, const char *title, const ms_module_list *list,
                               FILE *out)
{
    const char *text = list->pattern ? list->pattern : "";
    for (uint32_t i = 0; i < list->count && text; i++)
        text = ms_arena_printf(arena, "%s%s%s", text, i > 0 ? "+" : "", list->names[i]);
    if (text && *text)
        write_line(out, title, "yes", text);
    return text ? MS_OK : MS_ERR_NOMEM;
}

/* PEFT's default targets, or those that are usual. */
static ms_status write_adapters(ms_arena *arena, const ms_model_config *model, FILE *out)
{
    ms_module_list lora[2], ia3[2];
    ms_adapter_defaults(model->family, MS_ADAPTER_LORA, lora);
    ms_adapter_defaults(model->family, MS_ADAPTER_IA3, ia3);
    const char *usual = ms_adapter_usual_targets(model->family);
    if (usual)
        write_line(out, "LoRA's defaults", "no",
                   ms_arena_printf(arena, "PEFT has none; name targets, such as %s", usual));
    ms_status status = write_targets(arena, "LoRA's defaults", &lora[0], out);
    if (status == MS_OK && !ia3[0].count)
        write_line(out, "IA3's defaults", "no", "PEFT has none; name targets");
    return status == MS_OK ? write_targets(arena, "IA3's defaults", &ia3[0], out) : status;
}

static ms_status write_liger(ms_arena *arena, const ms_model_config *model, FILE *out)
{
    const ms_liger_family *liger = ms_liger_family_of(model);
    const char *kernels = liger ? ms_liger_text(arena, liger->kernels) : "it has no kernels for it";
    if (kernels)
        write_line(out, "Liger", liger ? "yes" : "no", kernels);
    return kernels ? MS_OK : MS_ERR_NOMEM;
}

static void write_engines(const ms_model_config *model, FILE *out)
{
    const ms_infer_engine *engine;
    for (size_t i = 0; (engine = ms_infer_engine_at(i)) != NULL; i++) {
        ms_error err = {.status = MS_OK};
        bool is_known = ms_infer_engine_check(engine, model, &err) == MS_OK;
        const char *reason = is_known ? "" : err.text, *colon = strstr(reason, ": ");
        write_line(out, engine->name, is_known ? "yes" : "no", colon ? colon + 2 : reason);
    }
}

/* Writes a line for each strategy, engine and library: "yes", what it has, or "no" with the message
 * that a run with it is refused by. `name` is a model as --config takes it. */
static ms_status known_write(ms_arena *arena, const char *name, FILE *out, ms_error *err)
{
    const ms_run_setting setting = {"config", name};
    ms_model_config model = {0};
    ms_run_config run;
    ms_status status = ms_run_load(arena, &setting, 1, &model, &run, NULL, err);
    if (status != MS_OK)
        return status;
    fputc('\n', out);
    ms_put_printable(out, name);
    fprintf(out, ", family %s: what is predicted\n", model.model_type);
    for (size_t i = 0; i < sizeof tried / sizeof *tried && status == MS_OK; i++)
        status = try_run(arena, name, &tried[i], out);
    if (status == MS_OK)
        status = write_adapters(arena, &model, out);
    if (status == MS_OK)
        status = write_liger(arena, &model, out);
    if (status != MS_OK)
        return ms_fail(err, status, "no memory for what is predicted of a model");
    write_engines(&model, out);
    return MS_OK;
}

/* ---- tables ---- */

enum { NO_LIMIT = 1 << 20 };

static ms_status finish(FILE *out, ms_error *err)
{
    return ms_output_finish(out, "to the output", err);
}

static void put_whole(ms_list_table *l, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    ms_list_put(l, text);
}

/* Writes the list, and a note below it where there is one. */
static ms_status end(ms_list_table *list, const char *note, uint32_t columns, FILE *out,
                     ms_error *err)
{
    const ms_style style = {.columns = columns ? columns : NO_LIMIT};
    const ms_page page = ms_page_begin(out, &style);
    if (!ms_list_end(list, &page, style.columns))
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the list");
    if (note) {
        fputc('\n', out);
        ms_page_line(&page, note);
    }
    return finish(out, err);
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

/* ---- models ---- */

static const ms_list_column model_columns[] = {
    {"NAME", 0, 25, 0, false}, {"FAMILY", 1, 16, 2, false}, {"PARAMS", 1, 9, 0, true},
    {"ACTIVE", 1, 9, 3, true}, {"LAYERS", 1, 6, 4, true},   {"HIDDEN", 1, 6, 5, true},
    {"HEADS", 1, 6, 6, true},  {"KV", 1, 5, 6, true},       {"MLP", 1, 8, 7, true},
    {"VOCAB", 1, 7, 8, true},  {"INFER", 2, 0, 1, false},
};

enum { MODEL_COLUMNS = sizeof model_columns / sizeof model_columns[0] };

/* "8.03 B", "134.5 M"; "-" for 0. */
static void put_count(ms_list_table *l, uint64_t count)
{
    char text[16] = "-";
    if (count >= 1000000000)
        ms_text_print(text, sizeof text, "%.2f B", (double)count / 1e9);
    else if (count > 0)
        ms_text_print(text, sizeof text, "%.1f M", (double)count / 1e6);
    ms_list_put(l, text);
}

/* The model alone is built, by default settings. */
static ms_status put_model(ms_list_table *l, ms_arena *arena, const char *name, ms_error *err)
{
    const ms_run_setting setting = {"config", name};
    ms_model_config m = {0};
    ms_run_config run;
    ms_simulated simulated;
    char engines[MS_INFER_TAKERS_SIZE];
    ms_status status = ms_run_load(arena, &setting, 1, &m, &run, NULL, err);
    const ms_job job = {.model = &m, .run = &run};
    if (status == MS_OK)
        status = ms_simulate(&job, MS_SIMULATE_MODEL, &simulated, err);
    if (status != MS_OK)
        return status;
    const ms_simulation *built = &simulated.simulation;
    bool sparse = built->active_param_count < built->param_count;
    ms_list_put(l, name);
    ms_list_put(l, m.model_type);
    put_count(l, built->param_count);
    put_count(l, sparse ? built->active_param_count : 0);
    put_whole(l, m.num_layers);
    put_whole(l, m.hidden_size);
    put_whole(l, m.num_heads);
    put_whole(l, m.num_kv_heads);
    put_whole(l, m.intermediate_size);
    put_whole(l, m.vocab_size);
    ms_infer_engine_takers(&m, " ", engines);
    ms_list_put(l, *engines ? engines : "-");
    ms_simulated_free(&simulated);
    return MS_OK;
}

static bool is_of_family(ms_arena *arena, const char *preset, const char *model_type)
{
    ms_model_config model;
    ms_error err = {.status = MS_OK};
    return ms_preset_load(arena, preset, &model, &err) == MS_OK &&
           strcmp(model.model_type, model_type) == 0;
}

/* The preset that the text names, or the first of the family that it names; NULL: none. */
static const char *named_preset(ms_arena *arena, const char *text)
{
    const char *name;
    if (!text || ms_is_preset(text))
        return text;
    for (size_t i = 0; (name = ms_preset_name(i)) != NULL; i++)
        if (is_of_family(arena, name, text))
            return name;
    return NULL;
}

static ms_status write_models(ms_arena *arena, const char *part, uint32_t columns, FILE *out,
                              ms_error *err)
{
    const char *name;
    ms_hub_model hub;
    ms_status status = MS_OK;
    ms_list_table list = ms_list_begin(model_columns, MODEL_COLUMNS);
    if (part && strchr(part, '/') && ms_hub_find(part, &hub))
        part = hub.preset;
    for (size_t i = 0; status == MS_OK && (name = ms_preset_name(i)) != NULL; i++)
        if (!part || holds(name, part) || is_of_family(arena, name, part))
            status = put_model(&list, arena, name, err);
    const char *named = status == MS_OK ? named_preset(arena, part) : NULL;
    if (status == MS_OK && !ms_list_rows(&list) && ms_model_is_named(part)) {
        named = part;
        status = put_model(&list, arena, named, err);
    }
    if (status == MS_OK && (ms_list_rows(&list) > 0 || list.has_failed)) {
        status = end(&list, NULL, columns, out, err);
        return status == MS_OK && named ? known_write(arena, named, out, err) : status;
    }
    ms_list_end(&list, NULL, 0);
    if (status != MS_OK)
        return status;
    return ms_fail(err, MS_ERR_USAGE,
                   "no built-in model has '%.40s' in its name or has that type, and no file has "
                   "that name; a configuration file (config.json) works too",
                   part);
}

ms_status ms_write_models(const char *part, uint32_t columns, FILE *out, ms_error *err)
{
    if (!out)
        return ms_fail_null(err);
    ms_arena *arena = ms_arena_create(0);
    if (!arena)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the list of models");
    ms_status status = write_models(arena, part, columns, out, err);
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

/* ---- devices ---- */

/* Names, as in configs/devices.json, of the cells that are shown. */
#define DRIVER "driver_mib"
#define CUDA "cuda_mib"
#define MEMORY "memory_gb_per_s"
#define BF16 "bf16_tflops"
#define HOST "host_link_gb_per_s"
#define PEER "peer_link_gb_per_s"

/* A column of marks stands behind one of figures, and goes with it. */
#define MARKS(goes)                                                                                \
    {                                                                                              \
        "", 0, 1, goes, false                                                                      \
    }

static const ms_list_column device_columns[] = {
    {"", 0, 16, 0, false},
    {"DRIVER", 1, 8, 0, true},
    MARKS(0),
    {"CUDA", 1, 8, 0, true},
    MARKS(0),
    {"", 1, 6, 3, true},
    {"MEMORY", 1, 7, 2, true},
    MARKS(2),
    {"BF16", 1, 7, 1, true},
    MARKS(1),
    {"HOST", 1, 7, 4, true},
    MARKS(4),
    {"PEER", 1, 7, 5, true},
    MARKS(5),
    {"", 1, 0, 6, false},
};

enum { DEVICE_COLUMNS = sizeof device_columns / sizeof device_columns[0], LEAST_TITLE = 20 };

static void put_units(ms_list_table *l)
{
    static const char *const units[DEVICE_COLUMNS] = {
        "NAME", "GiB", "", "GiB", "", "CC", "GB/s", "", "TFLOP/s", "", "GB/s", "", "GB/s", "", ""};
    for (uint32_t i = 0; i < DEVICE_COLUMNS; i++)
        ms_list_put(l, units[i]);
}

/* Whether the value lacks a source. */
static void put_mark(ms_list_table *l, const ms_device *d, bool is_known, const char *cell)
{
    ms_list_put(l, is_known && strstr(d->unchecked, cell) ? "?" : "");
}

/* Hundredths of a GiB; "-" when the size is not known. */
static void put_gib(ms_list_table *l, const ms_device *d, uint64_t bytes, const char *cell)
{
    const uint64_t gib = UINT64_C(1) << 30;
    uint64_t hundredths = bytes / gib * 100 + (bytes % gib * 100 + gib / 2) / gib;
    char text[32] = "-";
    if (bytes)
        snprintf(text, sizeof text, "%" PRIu64 ".%02" PRIu64, hundredths / 100, hundredths % 100);
    ms_list_put(l, text);
    put_mark(l, d, bytes > 0, cell);
}

static void put_rate(ms_list_table *l, const ms_device *d, double per_s, double unit,
                     const char *cell)
{
    char text[32] = "-";
    if (per_s > 0)
        ms_text_print(text, sizeof text, "%.0f", per_s / unit);
    ms_list_put(l, text);
    put_mark(l, d, per_s > 0, cell);
}

static void put_device(ms_list_table *l, const ms_device *d)
{
    char capability[24] = "-";
    if (d->compute_capability)
        snprintf(capability, sizeof capability, "%" PRIu32 ".%" PRIu32, d->compute_capability / 10,
                 d->compute_capability % 10);
    ms_list_put(l, d->name);
    put_gib(l, d, d->driver_bytes, DRIVER);
    put_gib(l, d, d->cuda_bytes, CUDA);
    ms_list_put(l, capability);
    put_rate(l, d, d->memory_bytes_per_s, 1e9, MEMORY);
    put_rate(l, d, d->bf16_flops, 1e12, BF16);
    put_rate(l, d, d->host_link_bytes_per_s, 1e9, HOST);
    put_rate(l, d, d->peer_link_bytes_per_s, 1e9, PEER);
    ms_list_put(l, d->title);
}

static ms_status write_devices(ms_arena *arena, const char *part, uint32_t columns, FILE *out,
                               ms_error *err)
{
    const ms_device *devices = NULL;
    uint32_t count = 0;
    ms_status status = ms_devices_load(arena, &devices, &count, err);
    if (status != MS_OK)
        return status;
    ms_list_table list = ms_list_begin(device_columns, DEVICE_COLUMNS);
    list.least_last = LEAST_TITLE;
    put_units(&list);
    for (uint32_t i = 0; i < count; i++)
        if (!part || holds(devices[i].name, part) || holds(devices[i].title, part))
            put_device(&list, &devices[i]);
    if (ms_list_rows(&list) > 1 || list.has_failed)
        return end(&list, "?: from general knowledge, not checked against a source; -: not known",
                   columns, out, err);
    ms_list_end(&list, NULL, 0);
    return ms_fail(err, MS_ERR_USAGE, "no built-in device has '%.40s' in its name", part);
}

ms_status ms_write_devices(const char *part, uint32_t columns, FILE *out, ms_error *err)
{
    if (!out)
        return ms_fail_null(err);
    ms_arena *arena = ms_arena_create(0);
    if (!arena)
        return ms_fail(err, MS_ERR_NOMEM, "no memory for the list of devices");
    ms_status status = write_devices(arena, part, columns, out, err);
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
