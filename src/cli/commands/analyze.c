/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memscope analyze: one analysis, then the requested reports, one by one.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/capture/check_with.h"
#include "cli/capture/records.h"
#include "cli/commands/commands.h"
#include "cli/commands/devices.h"
#include "cli/output/file.h"
#include "cli/output/guard.h"
#include "cli/output/message.h"
#include "cli/output/terminal.h"
#include "cli/parse/formats.h"
#include "cli/parse/options.h"
#include "cli/parse/run.h"

/* ---- options ---- */

static const char *format_at(size_t index)
{
    const ms_report_format *format = ms_report_format_at(index);
    return format ? format->name : NULL;
}

static ms_status set_check_with(ms_cli_settings *s, const char *value, ms_error *err)
{
    s->checks_with_capture = true;
    return strcmp(value, "capture") == 0
               ? MS_OK
               : ms_cli_fail(err, MS_ERR_USAGE, "--check-with: found '%.40s', expected capture",
                             value);
}

/* clang-format off */
static const ms_cli_option options[] = {
    {"format",   0,   "NAME",     "format of the report: console, json, md, csv, html, svg, ...", .apply = ms_cli_set_format},
    {"file",     'o', "FILE",     "output file of --format; - is standard output", MS_CLI_PATH(file)},
    {"output",   0,   "FMT=FILE", "write another report as well; may be repeated", .apply = ms_cli_add_output},
    {"out",      0,   "DIR",      "write static_report.json and static_report.md there", MS_CLI_TEXT(directory, "a directory")},
    {"events",   0,   "FILE",     "write the allocations and frees of a step, one per line", MS_CLI_PATH(events)},
    {"chart",    0,   NULL,       "draw memory over the step in the console report", MS_CLI_FLAG(chart)},
    {"check-with", 0, "capture",  "run the step in PyTorch without a GPU and compare both", .apply = set_check_with},
    {"python",   0,   "FILE",     "for --check-with: Python program that has PyTorch [python3]", MS_CLI_TEXT(python, "a program")},
    {"unroll",   0,   NULL,       "write one record for every layer, even if layers are equal", MS_CLI_FLAG(unroll)},
    {"no-advice", 0,  NULL,       "leave out suggestions, which take longer than the rest", MS_CLI_FLAG(no_advice)},
    {"quiet",    'q', NULL,       "print no console report and no messages except errors", MS_CLI_FLAG(quiet)},
    MS_CLI_COLOR_ROWS,
    MS_CLI_HELP_ROW,
};
/* clang-format on */

static const ms_cli_grammar grammar = {
    .options = options,
    .fields = ms_cli_many_run_fields,
    .take_word = ms_cli_take_config,
    .format_at = format_at,
    .takes_launch = true,
    .notes =
        "\nSizes carry a unit: B, KiB, MiB, GiB, TiB are powers of 1024; kB, MB, GB, TB of 1000.\n"
        "The configuration may also be given without --config; - reads standard input.\n"
        "--format html writes a page with pictures; others are svg, chrome-trace (Perfetto),\n"
        "memory-viz (PyTorch's memory viewer), speedscope and folded (flame graphs of the peak),\n"
        "trace (every allocation, operator and copy of the run, as JSON lines).\n"
        "\nSeveral ranks, by framework\n"
        "  accelerate         --training-args accelerate.yaml\n"
        "  DeepSpeed          --training-args ds_config.json --world 8\n"
        "  TrainingArguments  --training-args args.json --world 8\n"
        "  torchtitan         --training-args train.toml --world 64\n"
        "  torchtune          --training-args 8B_full.yaml --world 8\n"
        "  plain PyTorch      --parallel fsdp=8 --dtype fp32 --param-dtype bf16\n\n"
        "Without --format, -o, --output and --events the console report goes to standard output.\n",
};

/* ---- reports ---- */

static ms_status write_report(FILE *out, const ms_cli_source *source, ms_error *err)
{
    return ms_analysis_write(source->analysis, source->format, out, err);
}

static ms_status write_events(FILE *out, const ms_cli_source *source, ms_error *err)
{
    return ms_analysis_write_events(source->analysis, out, err);
}

static ms_status write_one(ms_analysis *analysis, const char *format, const char *path,
                           ms_error *err)
{
    const ms_cli_source source = {.write = write_report, .analysis = analysis, .format = format};
    return ms_cli_write_file(path, &source, err);
}

static const char *directory_of(const ms_cli_settings *s)
{
    return s->directory ? s->directory : "reports";
}

/* Whether an output that was asked for goes there. */
static bool has_stdout(const ms_cli_settings *s)
{
    bool found = (s->format || s->file) && (!s->file || strcmp(s->file, "-") == 0);
    for (size_t i = 0; i < s->output_count; i++)
        found = found || strcmp(s->outputs[i].path, "-") == 0;
    return found || (s->events && strcmp(s->events, "-") == 0);
}

/* Without --out the records of --check-with still have a place. */
static bool writes_directory(const ms_cli_settings *s)
{
    return s->directory || s->checks_with_capture;
}

/* The console report: if nothing else was asked for, and beside the files of a directory. */
static bool prints_report(const ms_cli_settings *s, bool asked)
{
    return !s->quiet && !has_stdout(s) && (!asked || writes_directory(s));
}

static ms_status write_directory(const ms_cli_settings *s, ms_analysis *analysis, ms_error *err)
{
    static const char *const formats[] = {"json", "md"};
    const char *directory = directory_of(s);
    ms_status status = ms_cli_make_directory(directory, err);
    for (size_t i = 0; status == MS_OK && i < sizeof formats / sizeof formats[0]; i++) {
        size_t length = strlen(directory) + 64;
        char *path = malloc(length);
        if (!path)
            return ms_cli_fail(err, MS_ERR_NOMEM, "no memory for a file name");
        snprintf(path, length, "%s/static_report.%s", directory, formats[i]);
        status = write_one(analysis, formats[i], path, err);
        free(path);
    }
    if (status == MS_OK && !s->quiet)
        ms_cli_say("wrote %s/static_report.%s and %s/static_report.%s", directory, formats[0],
                   directory, formats[1]);
    return status;
}

static ms_status write_asked(const ms_cli_settings *s, ms_analysis *analysis, ms_error *err)
{
    ms_status status = MS_OK;
    if (s->format || s->file)
        status = write_one(analysis, ms_cli_format(s), s->file ? s->file : "-", err);
    for (size_t i = 0; status == MS_OK && i < s->output_count; i++)
        status = write_one(analysis, s->outputs[i].format, s->outputs[i].path, err);
    if (status == MS_OK && s->events)
        status = ms_cli_write_file(
            s->events, &(ms_cli_source){.write = write_events, .analysis = analysis}, err);
    return status;
}

/* Colour goes to a terminal, never into a file unless asked for. */
static bool goes_to_stdout(const ms_cli_settings *s)
{
    return !s->file || strcmp(s->file, "-") == 0 || s->color == MS_COLOR_ALWAYS;
}

/* Before the first of them is written. */
static ms_status check_places(const ms_cli_settings *s, bool asked, ms_error *err)
{
    ms_cli_targets targets = {.count = 0};
    if (s->format || s->file)
        ms_cli_targets_add(&targets, NULL, s->file ? s->file : "-");
    for (size_t i = 0; i < s->output_count; i++)
        ms_cli_targets_add(&targets, NULL, s->outputs[i].path);
    if (s->events)
        ms_cli_targets_add(&targets, NULL, s->events);
    if (prints_report(s, asked))
        ms_cli_targets_add(&targets, NULL, "-");
    if (writes_directory(s)) {
        ms_cli_targets_add(&targets, directory_of(s), "static_report.json");
        ms_cli_targets_add(&targets, directory_of(s), "static_report.md");
    }
    if (s->checks_with_capture)
        ms_cli_add_records(&targets, directory_of(s));
    return ms_cli_targets_check(&targets, err);
}

static ms_status write_reports(const ms_cli_settings *s, ms_analysis *analysis, ms_error *err)
{
    ms_style style = ms_cli_style(goes_to_stdout(s) ? s->color : MS_COLOR_NEVER);
    style.chart = s->chart;
    ms_analysis_set_style(analysis, &style);
    if (s->no_advice)
        ms_analysis_skip_advice(analysis);
    bool asked = s->format || s->file || s->output_count || s->events;
    if (check_places(s, asked, err) != MS_OK)
        return err->status;
    if (s->unroll && ms_analysis_unroll(analysis, err) != MS_OK)
        return err->status;
    ms_status status = asked ? write_asked(s, analysis, err) : MS_OK;
    if (status == MS_OK && prints_report(s, asked))
        status = write_one(analysis, "console", "-", err);
    if (status == MS_OK && writes_directory(s))
        status = write_directory(s, analysis, err);
    if (status == MS_OK && s->checks_with_capture)
        status = ms_cli_check_with_capture(s, directory_of(s), analysis, err);
    return status;
}

static void print_notes(const ms_analysis *analysis)
{
    const char *note;
    for (size_t i = 0; (note = ms_analysis_note(analysis, i)) != NULL; i++)
        ms_cli_say("note: %s", note);
}

static ms_status check_for_comparison(const char *format, const char *path, ms_error *err)
{
    if (strcmp(path, "-") != 0 || strcmp(format, "console") == 0)
        return MS_OK;
    return ms_cli_fail(
        err, MS_ERR_USAGE,
        "--check-with prints a comparison to standard output, so %.40s cannot go there too",
        format);
}

/* What is printed for programs stands alone. */
static ms_status check_outputs(const ms_cli_settings *s, ms_error *err)
{
    ms_status status = MS_OK;
    if (s->format || s->file)
        status = check_for_comparison(ms_cli_format(s), s->file ? s->file : "-", err);
    for (size_t i = 0; status == MS_OK && i < s->output_count; i++)
        status = check_for_comparison(s->outputs[i].format, s->outputs[i].path, err);
    if (status == MS_OK && s->events)
        status = check_for_comparison("events", s->events, err);
    return status;
}

/* What a table of devices has no room for. */
static ms_status check_for_devices(const ms_cli_settings *s, ms_error *err)
{
    const char *refused = s->output_count          ? "output"
                          : s->directory           ? "out"
                          : s->events              ? "events"
                          : s->checks_with_capture ? "check-with"
                          : s->unroll              ? "unroll"
                          : s->chart               ? "chart"
                                                   : NULL;
    return refused
               ? ms_cli_fail(err, MS_ERR_USAGE, "--%s works with one device, not with --device %s",
                             refused, s->devices)
               : MS_OK;
}

static int analyze_on_devices(const ms_cli_settings *s, ms_error *err)
{
    if (check_for_devices(s, err) != MS_OK)
        return ms_cli_complain(err);
    return ms_cli_write_devices(s, ms_devices_analyze(s->run, s->devices, err), MS_ERR_OVER_BUDGET,
                                err);
}

static int analyze(const ms_cli_settings *s, ms_error *err)
{
    if (s->devices)
        return analyze_on_devices(s, err);
    if (s->checks_with_capture && check_outputs(s, err) != MS_OK)
        return ms_cli_complain(err);
    ms_analysis *analysis = ms_analyze(s->run, err);
    if (!analysis)
        return ms_cli_complain(err);
    if (!s->quiet)
        print_notes(analysis);
    ms_status status = write_reports(s, analysis, err);
    ms_fit_verdict verdict = ms_analysis_summary(analysis)->verdict;
    ms_analysis_free(analysis);
    if (status != MS_OK)
        return ms_cli_complain(err);
    return ms_cli_exit_code_of(verdict);
}

static int run(const ms_cli_call *call)
{
    return ms_cli_run_with_run(call, analyze);
}

static const char *const examples[] = {
    "memscope analyze --config llama-3.1-8b --seq 4096 --device h100-80gb",
    "a built-in model on a built-in device",
    "memscope analyze llama-3.1-8b --checkpointing all --device all",
    "which devices it fits, the smallest first; also --device l40s,rtx-4090",
    "memscope analyze --config path/to/config.json --batch 4 --checkpointing all",
    "a Hugging Face config.json, or the directory that holds it",
    "memscope analyze --device l4 -- torchrun --nproc_per_node 2 train.py --config sft.yaml",
    "a training as it is launched; it is read as typed, and nothing is run",
    "memscope analyze --config gpt2 --budget 24GiB --format json -o report.json",
    "one report in a file; exit status 1 when the step does not fit 24 GiB",
    NULL,
};

static const char outcomes[] =
    "  0   the step fits --budget or else the device, even if only just (tight); with several\n"
    "      devices, it fits at least one of them\n"
    "  1   it does not fit\n"
    "  4   unknown: the answer depends on settings that are not predicted\n";

const ms_cli_command ms_cli_analyze = {
    .name = "analyze",
    .arguments = "[OPTION...] [CONFIG]",
    .help = "Predict how much memory a training step needs, and what for.",
    .examples = examples,
    .grammar = &grammar,
    .outcomes = outcomes,
    .run = run,
};
