/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memscope calibrate: fits device properties to measured steps.
 */
#include <string.h>
#include <unistd.h>

#include "cli/commands/commands.h"
#include "cli/output/file.h"
#include "cli/output/guard.h"
#include "cli/output/message.h"
#include "cli/output/terminal.h"
#include "cli/parse/formats.h"
#include "cli/parse/options.h"
#include "cli/parse/run.h"
#include "memscope/calibrate.h"

enum { PATH_BYTES = 4096 };
static const char predicted_name[] = "static_report.json";

static ms_status take_word(ms_cli_settings *s, const char *word, ms_error *err)
{
    (void)err;
    s->paths[s->path_count++] = word;
    return MS_OK;
}

/* clang-format off */
static const ms_cli_option options[] = {
    {"format",   0,   "NAME", NULL, .apply = ms_cli_set_format},
    {"file",     'o', "FILE", "output file of calibration.json; - is standard output", MS_CLI_PATH(file)},
    {"quiet",    'q', NULL,   "write the file and print nothing on the console", MS_CLI_FLAG(quiet)},
    MS_CLI_COLOR_ROWS,
    MS_CLI_HELP_ROW,
};
/* clang-format on */

static const ms_cli_grammar grammar = {
    .options = options,
    .fields = ms_cli_no_fields,
    .take_word = take_word,
    .format_at = ms_calibrator_format_at,
    .notes =
        "\nA point is a runtime_report.json of capture --real with the static_report.json of the\n"
        "same run beside it, or STATIC,RUNTIME; a FILE.csv holds one in each line. capture\n"
        "measures reserved memory; the context, times and links come from a FILE.csv, or from the\n"
        "device_links.json of probe --links.\n"
        "\n"
        "Columns of FILE.csv, in any order; told_ means predicted, and an empty cell or 0 means\n"
        "that nothing was measured:\n"
        "  name, device                  of the device table, the same in all lines\n"
        "  told_reserved_bytes, measured_reserved_bytes\n"
        "  measured_device_bytes         use shown by the device; the context is what exceeds "
        "reserved\n"
        "  told_product_ms, told_attention_ms, told_other_ms\n"
        "                                times.roofline_ms of the static report\n"
        "  told_copy_ms, measured_ms     waiting for copies, predicted; the step, measured\n"
        "  host_link_gb_per_s, peer_link_gb_per_s\n",
};

static bool ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* The runtime report with the other one in its folder, or "STATIC,RUNTIME". */
static ms_status add_pair(ms_calibrator *c, const char *word, ms_error *err)
{
    char predicted[PATH_BYTES];
    const char *comma = access(word, R_OK) == 0 ? NULL : strchr(word, ',');
    const char *slash = strrchr(word, '/'), *measured = comma ? comma + 1 : word;
    int folder = slash ? (int)(slash + 1 - word) : 0;
    int length =
        comma ? snprintf(predicted, sizeof predicted, "%.*s", (int)(comma - word), word)
              : snprintf(predicted, sizeof predicted, "%.*s%s", folder, word, predicted_name);
    if (length < 0 || length >= PATH_BYTES)
        return ms_cli_fail(err, MS_ERR_USAGE, "the name of a report is too long");
    ms_status status = ms_cli_guard_input(predicted, err);
    if (status == MS_OK)
        status = ms_cli_guard_input(measured, err);
    return status == MS_OK ? ms_calibrator_add_pair(c, predicted, measured, err) : status;
}

static ms_status add_table(ms_calibrator *c, const char *word, ms_error *err)
{
    ms_status status = ms_cli_guard_input(word, err);
    return status == MS_OK ? ms_calibrator_add_table(c, word, err) : status;
}

static ms_status add_links(ms_calibrator *c, const char *word, ms_error *err)
{
    ms_status status = ms_cli_guard_input(word, err);
    return status == MS_OK ? ms_calibrator_add_links(c, word, err) : status;
}

static ms_status add_word(ms_calibrator *c, const char *word, ms_error *err)
{
    bool is_links = false;
    if (ends_in(word, ".csv") || strcmp(word, "-") == 0)
        return add_table(c, word, err);
    ms_status status = ms_calibrator_is_links(word, &is_links, err);
    if (status != MS_OK)
        return status;
    return is_links ? add_links(c, word, err) : add_pair(c, word, err);
}

static ms_status write_fit(FILE *out, const ms_cli_source *source, ms_error *err)
{
    return ms_calibrator_write(source->data, source->format, out, err);
}

static ms_status show(const ms_cli_settings *s, ms_calibrator *c, ms_error *err)
{
    ms_style style = ms_cli_style(s->color);
    ms_cli_source source = {.write = write_fit, .data = c, .format = ms_cli_format(s)};
    ms_calibrator_set_style(c, &style);
    if (!s->file)
        return ms_cli_write_file("-", &source, err);
    ms_status status = ms_cli_write_file(s->file, &source, err);
    if (status != MS_OK || s->quiet || strcmp(s->file, "-") == 0)
        return status;
    source.format = "console";
    return ms_cli_write_file("-", &source, err);
}

static int calibrate(const ms_cli_settings *s, ms_error *err)
{
    ms_calibrator *c = ms_calibrator_create();
    ms_status status = c ? MS_OK : ms_cli_fail(err, MS_ERR_NOMEM, "out of memory");
    if (status == MS_OK && s->path_count == 0)
        status = ms_cli_fail(
            err, MS_ERR_USAGE,
            "no points were given: calibrate runtime_report.json... -o calibration.json");
    for (size_t i = 0; i < s->path_count && status == MS_OK; i++)
        status = add_word(c, s->paths[i], err);
    for (size_t i = 0; !s->quiet && status == MS_OK && ms_calibrator_note(c, i); i++)
        ms_cli_say("note: %s", ms_calibrator_note(c, i));
    if (status == MS_OK)
        status = ms_calibrator_fit(c, err);
    if (status == MS_OK)
        status = show(s, c, err);
    ms_calibrator_free(c);
    return status == MS_OK ? EXIT_FITS : ms_cli_complain(err);
}

static int run(const ms_cli_call *call)
{
    return ms_cli_run_with_paths(call, calibrate);
}

static const char *const examples[] = {
    "memscope calibrate runs/*/runtime_report.json -o calibration.json",
    "workspaces and margin from capture --real reports, each beside its static_report.json",
    "memscope calibrate points.csv -o calibration.json",
    "also the context, times and links, if it has columns for them",
    "memscope calibrate device_links.json -o calibration.json",
    "the links, operator rates and context that memscope probe --links measured",
    "memscope analyze llama-3.1-8b --device h100-80gb --calibration calibration.json",
    "a prediction that uses it",
    NULL,
};

static const char outcomes[] = "  0   something was fitted\n";

const ms_cli_command ms_cli_calibrate = {
    .name = "calibrate",
    .arguments = "[OPTION...] REPORT...",
    .help = "Calibrate a device from measured steps.",
    .examples = examples,
    .grammar = &grammar,
    .outcomes = outcomes,
    .run = run,
};
