/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memscope compare: compares two reports.
 */
#include "cli/capture/records.h"
#include "cli/commands/commands.h"
#include "cli/output/file.h"
#include "cli/output/message.h"
#include "cli/output/terminal.h"
#include "cli/parse/formats.h"
#include "cli/parse/options.h"
#include "cli/parse/run.h"
#include "memscope/recorded.h"

static ms_status take_word(ms_cli_settings *s, const char *word, ms_error *err)
{
    if (s->config && s->second)
        return ms_cli_fail(err, MS_ERR_USAGE,
                           "compare takes two reports, but found a third argument, %.80s", word);
    if (s->config)
        s->second = word;
    else
        s->config = word;
    return MS_OK;
}

/* clang-format off */
static const ms_cli_option options[] = {
    {"format",   0,   "NAME", NULL, .apply = ms_cli_set_format},
    {"file",     'o', "FILE", "output file; - is standard output", MS_CLI_PATH(file)},
    MS_CLI_COLOR_ROWS,
    MS_CLI_HELP_ROW,
};
/* clang-format on */

static const ms_cli_grammar grammar = {
    .options = options,
    .fields = ms_cli_no_fields,
    .take_word = take_word,
    .format_at = ms_compare_format_at,
    .notes = "\nEither may be a static_report.json or a runtime_report.json. The differences are\n"
             "the second minus the first. Causes that both reports state are named first.\n",
};

static ms_status write_compare(FILE *out, const ms_cli_source *source, ms_error *err)
{
    return ms_compare_write(source->recorded, source->second, source->format, out, err);
}

static int compare(const ms_cli_settings *s, ms_error *err)
{
    if (!s->second) {
        ms_cli_fail(err, MS_ERR_USAGE, "compare needs two reports: compare FIRST.json SECOND.json");
        return ms_cli_complain(err);
    }
    ms_recorded *first = ms_cli_read_record(s->config, err);
    ms_recorded *second = first ? ms_cli_read_record(s->second, err) : NULL;
    if (second) {
        ms_style style = ms_cli_style(s->file ? MS_COLOR_NEVER : s->color);
        const ms_cli_source source = {.write = write_compare,
                                      .recorded = first,
                                      .second = second,
                                      .format = ms_cli_format(s)};
        ms_recorded_set_style(second, &style);
        ms_cli_write_file(s->file ? s->file : "-", &source, err);
    }
    ms_recorded_free(first);
    ms_recorded_free(second);
    return err->status == MS_OK ? EXIT_FITS : ms_cli_complain(err);
}

static int run(const ms_cli_call *call)
{
    ms_cli_settings settings = {0};
    return ms_cli_run(call, &settings, compare);
}

static const char *const examples[] = {
    "memscope compare static_report.json memscope-capture/runtime_report.json",
    "prediction and measurement side by side",
    NULL,
};

static const char outcomes[] = "  0   the reports were compared\n";

const ms_cli_command ms_cli_compare = {
    .name = "compare",
    .arguments = "[OPTION...] FIRST SECOND",
    .help = "Compare two reports side by side.",
    .examples = examples,
    .grammar = &grammar,
    .outcomes = outcomes,
    .run = run,
};
