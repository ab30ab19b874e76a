/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memscope diff: shows how two runs differ.
 */
#include <stdio.h>
#include <string.h>

#include "cli/commands/commands.h"
#include "cli/output/file.h"
#include "cli/output/message.h"
#include "cli/output/terminal.h"
#include "cli/parse/formats.h"
#include "cli/parse/options.h"
#include "cli/parse/run.h"

static const char *format_at(size_t index)
{
    const ms_report_format *format = ms_comparison_format_at(index);
    return format ? format->name : NULL;
}

static ms_status take_side(ms_cli_settings *s, const char *word, ms_error *err)
{
    const char **side = !s->config ? &s->config : &s->other;
    if (*side)
        return ms_cli_fail(
            err, MS_ERR_USAGE,
            "diff takes two arguments, %.60s and %.60s, but found a third one, %.60s", s->config,
            s->other, word);
    *side = ms_cli_cached(word);
    return MS_OK;
}

/* clang-format off */
static const ms_cli_option options[] = {
    {"format",   0,   "NAME", NULL, .apply = ms_cli_set_format},
    {"file",     'o', "FILE", "output file; - is standard output", MS_CLI_PATH(file)},
    {"quiet",    'q', NULL,   "print errors only; the exit status is the result", MS_CLI_FLAG(quiet)},
    MS_CLI_COLOR_ROWS,
    MS_CLI_HELP_ROW,
};
/* clang-format on */

/* A side names its own. */
static const char *const said_by_side[] = {"config", NULL};

static const ms_cli_fields field_lists[] = {
    {.list = ms_run_fields, .set = ms_cli_set_run, .without = said_by_side},
    {.list = NULL},
};

static const ms_cli_grammar grammar = {
    .options = options,
    .fields = field_lists,
    .take_word = take_side,
    .format_at = format_at,
    .notes =
        "\nA and B are reports (static_report.json, plan.json of a run, or the JSON of infer),\n"
        "run files, or anything that --config of analyze takes; - is a report on standard input.\n"
        "Options of a run apply to every side that is analyzed; options after -- apply to B only.\n"
        "Without B, B is A with the options after --.\n",
    .has_sides = true,
};

static ms_status write_comparison(FILE *out, const ms_cli_source *source, ms_error *err)
{
    return ms_comparison_write(source->comparison, source->format, out, err);
}

/* The second side, and its own options, cut where there is no room. */
static void write_title(const ms_cli_settings *s, const char *name, char *title, size_t size)
{
    size_t used = (size_t)snprintf(title, size, "%s", name);
    for (char **word = s->second_words; word && *word && used < size; word++)
        if (*word != s->other)
            used += (size_t)snprintf(title + used, size - used, " %s", *word);
}

static int compare(const ms_cli_settings *s, ms_error *err)
{
    char title[256];
    const char *second = s->other || !s->of_second ? s->other : s->config;
    if (!second) {
        ms_cli_fail(err, MS_ERR_USAGE,
                    "diff needs two reports, run files or configs, or one and options after --");
        return ms_cli_complain(err);
    }
    write_title(s, second, title, sizeof title);
    ms_comparison *comparison =
        ms_comparison_make_with(s->config, second, s->run, s->of_second, title, err);
    if (!comparison)
        return ms_cli_complain(err);
    ms_style style =
        ms_cli_style(s->file && s->color != MS_COLOR_ALWAYS ? MS_COLOR_NEVER : s->color);
    const ms_cli_source source = {
        .write = write_comparison, .comparison = comparison, .format = ms_cli_format(s)};
    ms_comparison_set_style(comparison, &style);
    ms_status status = MS_OK;
    if (!s->quiet || s->file)
        status = ms_cli_write_file(s->file ? s->file : "-", &source, err);
    bool same = ms_comparison_is_same(comparison);
    ms_comparison_free(comparison);
    if (status != MS_OK)
        return ms_cli_complain(err);
    return same ? EXIT_SAME : EXIT_DIFFERENT;
}

static int run(const ms_cli_call *call)
{
    return ms_cli_run_with_run(call, compare);
}

static const char *const examples[] = {
    "memscope diff before.json after.json",
    "two reports: what changed, and how it changed the peak",
    "memscope diff baselines/llama.json path/to/memscope.run.json --format md",
    "a report and the current state of a run file",
    "memscope diff llama-3.1-8b --device a100-80gb -- --attention eager",
    "one setting and another",
    NULL,
};

static const char outcomes[] = "  0   nothing differs\n"
                               "  1   something differs\n";

const ms_cli_command ms_cli_diff = {
    .name = "diff",
    .arguments = "[OPTION...] A B",
    .help = "Show how two runs differ, and how that changes the peak.",
    .examples = examples,
    .grammar = &grammar,
    .outcomes = outcomes,
    .run = run,
};
