/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memscope probe: runs a predicted step on a device, measures the device's links, or offloads by
 * ratio.
 */
#include "memscope/probe.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/commands/commands.h"
#include "cli/output/file.h"
#include "cli/output/guard.h"
#include "cli/output/message.h"
#include "cli/output/terminal.h"
#include "cli/parse/backend.h"
#include "cli/parse/formats.h"
#include "cli/parse/options.h"
#include "cli/parse/run.h"

static const char report_file[] = "runtime_report.json", links_file[] = "device_links.json",
                  offload_file[] = "offload.json";

static ms_status add_tag(ms_cli_settings *s, const char *value, ms_error *err)
{
    if (s->offload_tag_count + 1 >= MS_CLI_MOST_TAGS)
        return ms_cli_fail(err, MS_ERR_USAGE, "--offload-tag is given more than %d times",
                           MS_CLI_MOST_TAGS - 1);
    s->offload_tags[s->offload_tag_count++] = value;
    return MS_OK;
}

static bool offloads(const ms_cli_settings *s)
{
    return s->offload_ratio || s->offload_tag_count > 0;
}

/* Of files; what is on the console is "console". */
static const char *file_format_at(size_t index)
{
    return ms_probe_offload_format_at(index + 1);
}

/* clang-format off */
static const ms_cli_option options[] = {
    {"backend",      0,   "NAME", "cuda, or host (this machine's memory and threads) [cuda]", .apply = ms_cli_set_backend},
    {"device-index", 0,   "N",    "number of the CUDA device [0]", .apply = ms_cli_set_device_index},
    {"capacity",     0,   "SIZE", "host memory to use as the device [3/4 of what is free]", .apply = ms_cli_set_capacity},
    {"trace",        0,   "FILE", "run a trace from analyze or capture, instead of a CONFIG", MS_CLI_TEXT(trace, NULL)},
    {"memory-only",  0,   NULL,   "allocate and release only; no operators, no copies", MS_CLI_FLAG(memory_only)},
    {"links",        0,   NULL,   "measure the device: copies, memory, products, context", MS_CLI_FLAG(links)},
    {"offload-ratio", 0,  "R",    "offload this share of the saved tensors, or FROM:TO:STEP", MS_CLI_TEXT(offload_ratio, NULL)},
    {"offload-tag",  0,   "TAG",  "offload of all, attention, mlp, norms or layers; TAG=R: share", .apply = add_tag},
    {"format",       0,   "NAME", "format: json, md, html; of an offload also csv, svg [by name]", .apply = ms_cli_set_format},
    {"file",         'o', "FILE", "output file of the JSON report; - is standard output only", MS_CLI_PATH(file)},
    {"quiet",        'q', NULL,   "write the file and print nothing on the console", MS_CLI_FLAG(quiet)},
    MS_CLI_COLOR_ROWS,
    MS_CLI_HELP_ROW,
};
/* clang-format on */

static const ms_cli_grammar grammar = {
    .options = options,
    .fields = ms_cli_run_fields,
    .take_word = ms_cli_take_config,
    .format_at = file_format_at,
    .notes =
        "\nWithout -o it writes runtime_report.json, or with --links device_links.json, if there\n"
        "is no such file yet. A step is replayed with the allocator of the simulation on the\n"
        "device's memory: matrix products in their shapes, other operators as memory traffic,\n"
        "copies on their own streams. Of the run's options --links uses only --device.\n"
        "\n"
        "With --offload-ratio or --offload-tag (repeatable; the last one that matches a tensor\n"
        "applies) probe prints a prediction, with --backend also a measurement, and writes\n"
        "offload.json.\n",
};

/* ---- where it goes ---- */

static const char *file_of(const ms_cli_settings *s)
{
    return s->file ? s->file : s->links ? links_file : offloads(s) ? offload_file : report_file;
}

/* Before anything is measured. What was not named is not replaced. */
static ms_status check_file(const ms_cli_settings *s, ms_error *err)
{
    struct stat found;
    if (!s->file && lstat(file_of(s), &found) == 0)
        return ms_cli_fail(err, MS_ERR_USAGE, "%s already exists: name another file with -o",
                           file_of(s));
    return ms_cli_check_place(file_of(s), err);
}

static ms_status write_probe(FILE *out, const ms_cli_source *source, ms_error *err)
{
    return ms_probe_write(source->data, source->format, out, err);
}

/* Whether it is a format that every report of a probe has besides JSON. */
static bool is_for_people(const char *format)
{
    return strcmp(format, "md") == 0 || strcmp(format, "html") == 0;
}

static ms_status show(const ms_cli_settings *s, ms_error *err)
{
    const char *format = ms_cli_format(s);
    ms_style style = ms_cli_style(s->color);
    ms_cli_source source = {.write = write_probe,
                            .data = s->probe,
                            .format = offloads(s) || is_for_people(format) ? format : "json"};
    ms_probe_set_style(s->probe, &style);
    ms_status status = s->file ? ms_cli_write_file(s->file, &source, err)
                               : ms_cli_write_new_file(file_of(s), &source, err);
    if (s->quiet || strcmp(file_of(s), "-") == 0)
        return status;
    source.format = "console"; /* also where the file cannot be written: it was measured */
    ms_error second = {.status = MS_OK};
    ms_status shown = ms_cli_write_file("-", &source, status == MS_OK ? err : &second);
    return status == MS_OK ? shown : status;
}

/* ---- measuring ---- */

static void stop(void *probe)
{
    ms_probe_stop(probe);
}

static ms_status measure(const ms_cli_settings *s, ms_error *err)
{
    const ms_probe_options how = {.backend =
                                      s->backend || offloads(s) ? s->backend : ms_cli_backend(s),
                                  .device_index = s->device_index,
                                  .capacity = s->capacity,
                                  .trace = s->trace,
                                  .memory_only = s->memory_only,
                                  .offload_ratio = s->offload_ratio,
                                  .offload_tags = s->offload_tags,
                                  .offload_tag_count = s->offload_tag_count};
    ms_cli_stop_on_signal(SIGINT, stop, s->probe);
    ms_status status = s->links      ? ms_probe_links(s->probe, s->run, &how, err)
                       : offloads(s) ? ms_probe_offload(s->probe, s->run, &how, err)
                                     : ms_probe_step(s->probe, s->run, &how, err);
    ms_cli_stop_on_signal(SIGINT, NULL, NULL);
    return status;
}

static void check_offload(const ms_cli_settings *s, ms_error *err)
{
    if (offloads(s) && s->links)
        ms_cli_fail(err, MS_ERR_USAGE, "--links measures the device and offloads nothing");
    if (offloads(s) && !s->backend && (s->memory_only || s->has_device_index))
        ms_cli_fail(err, MS_ERR_USAGE, "%s needs --backend: without one nothing runs",
                    s->memory_only ? "--memory-only" : "--device-index");
    if (offloads(s) && !s->offload_ratio && strcmp(ms_cli_format(s), "svg") == 0)
        ms_cli_fail(err, MS_ERR_USAGE,
                    "a picture needs several ratios: give --offload-ratio FROM:TO:STEP");
    const char *format = ms_cli_format(s);
    bool has_other = s->format || strcmp(format, "console") != 0;
    if (!offloads(s) && has_other && strcmp(format, "json") != 0 && !is_for_people(format))
        ms_cli_fail(
            err, MS_ERR_USAGE,
            "--format %s works only with --offload-ratio: this report can be json, md or html",
            format);
}

static void check_options(const ms_cli_settings *s, ms_error *err)
{
    if (s->trace && (s->links || offloads(s)))
        ms_cli_fail(err, MS_ERR_USAGE,
                    s->links ? "--links measures the device and runs no trace"
                             : "a trace already contains its offloading: --offload-ratio and "
                               "--offload-tag need a CONFIG");
    if (s->links && s->memory_only)
        ms_cli_fail(err, MS_ERR_USAGE,
                    "--memory-only moves no data, so --links has nothing to "
                    "measure");
    ms_cli_check_backend(s, err);
}

/* What was measured before a failure is written, too, and the failure decides the exit status. */
static int probe(const ms_cli_settings *s, ms_error *err)
{
    const char *note;
    check_options(s, err);
    check_offload(s, err);
    if (err->status != MS_OK || check_file(s, err) != MS_OK)
        return ms_cli_complain(err);
    ms_status status = measure(s, err);
    for (size_t i = 0; !s->quiet && (note = ms_probe_note(s->probe, i)) != NULL; i++)
        ms_cli_say("note: %s", note);
    if (ms_probe_has_figures(s->probe)) {
        ms_error write_error = {.status = MS_OK};
        int code = show(s, &write_error) == MS_OK ? EXIT_FITS : ms_cli_complain(&write_error);
        if (status == MS_OK)
            return code;
    }
    if (status == MS_OK)
        return EXIT_FITS;
    return ms_cli_complain_of_backend(s, err, ms_probe_has_figures(s->probe),
                                      "probes this machine's memory");
}

static int run(const ms_cli_call *call)
{
    ms_cli_settings settings = {.run = ms_run_create(), .probe = ms_probe_create()};
    int code =
        settings.run && settings.probe ? ms_cli_run(call, &settings, probe) : ms_cli_no_memory();
    ms_probe_free(settings.probe);
    ms_run_free(settings.run);
    return code;
}

static const char *const examples[] = {
    "memscope probe llama-3.2-1b --device h100-80gb",
    "prediction and measurement on this machine's GPU, side by side",
    "memscope probe llama-3.1-8b --plan plan.json --memory-only -o fits.json",
    "whether a plan fits, without running its operators",
    "memscope probe --trace run.jsonl --device h100-80gb",
    "the step of a trace, which analyze --format trace and capture --trace write",
    "memscope probe smollm2-135m --seq 256 --backend host --capacity 4GiB",
    "the same step in this machine's memory, without a GPU",
    "memscope probe llama-3.1-8b --device h100-80gb --offload-ratio 0:1:0.1",
    "how much to offload: peak, waiting and use of the link by ratio",
    "memscope probe --links --device h100-80gb && memscope calibrate device_links.json",
    "the device's own figures, as a calibration",
    NULL,
};

static const char outcomes[] =
    "  0   measured\n"
    "  1   the device ran out of memory; what was measured by then is written\n"
    "  130 interrupted (Ctrl-C); what was measured by then is written\n";

const ms_cli_command ms_cli_probe = {
    .name = "probe",
    .arguments = "[OPTION...] [CONFIG]",
    .help = "Run a step on a device and compare it with the prediction.",
    .examples = examples,
    .grammar = &grammar,
    .outcomes = outcomes,
    .run = run,
};
