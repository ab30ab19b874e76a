/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memscope check: checks whether runs stay within their budgets.
 */
#define _XOPEN_SOURCE 700 /* for realpath; NOLINT(clang-diagnostic-reserved-macro-identifier) */
#include <limits.h>
#include <stdlib.h>
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

static const char *format_at(size_t index)
{
    const ms_report_format *format = ms_check_format_at(index);
    return format ? format->name : NULL;
}

static ms_status set_calibration(ms_cli_settings *s, const char *value, ms_error *err)
{
    s->calibration = value;
    if (*value && strcmp(value, "-") != 0)
        return MS_OK;
    return ms_cli_fail(
        err, MS_ERR_USAGE,
        "--calibration needs the name of a file, because it is read for every budget");
}

/* clang-format off */
static const ms_cli_option options[] = {
    {"budgets",   0,   "FILE",     "file of budgets to check [memscope.budgets.json]", MS_CLI_TEXT(config, "a file")},
    {"warn-only", 0,   NULL,       "exit status 0 when a budget is exceeded", MS_CLI_FLAG(warn_only)},
    {"calibration", 0, "FILE",     "a calibration.json from calibrate, for budgets of that device", .apply = set_calibration},
    {"no-plans",  0,   NULL,       "do not search for a plan that would fit again", MS_CLI_FLAG(no_plans)},
    {"root",      0,   "DIR",      "read files only in this folder, after following links [anywhere]", MS_CLI_TEXT(root, "a folder")},
    {"jobs",      'j', "N",        "budgets checked in parallel [one per processor]", .apply = ms_cli_set_jobs},
    {"format",    0,   "NAME",     "console, json, md, html, junit, github, sarif, gitlab, custom-smaller-is-better, shields or prometheus", .apply = ms_cli_set_format},
    {"file",      'o', "FILE",     "output file of --format; - is standard output", MS_CLI_PATH(file)},
    {"output",    0,   "FMT=FILE", "write another report as well; may be repeated", .apply = ms_cli_add_output},
    {"quiet",     'q', NULL,       "print no console report and no messages except errors", MS_CLI_FLAG(quiet)},
    MS_CLI_COLOR_ROWS,
    MS_CLI_HELP_ROW,
};
/* clang-format on */

static const ms_cli_grammar grammar = {
    .options = options,
    .fields = ms_cli_no_fields,
    .take_word = ms_cli_refuse_word,
    .format_at = format_at,
    .notes =
        "\nIn a GitHub workflow (GITHUB_ACTIONS=true) annotations come first, on standard output "
        "or, where a\nformat for programs goes there, on standard error; the Markdown goes to the "
        "job's summary.\n--warn-only does not hide a budget that cannot be read.\n",
};

static ms_status write_check(FILE *out, const ms_cli_source *source, ms_error *err)
{
    return ms_check_write(source->check, source->format, out, err);
}

static ms_status write_one(const ms_check *check, const char *format, const char *path,
                           ms_error *err)
{
    const ms_cli_source source = {.write = write_check, .check = check, .format = format};
    return ms_cli_write_file(path, &source, err);
}

/* The formats that go to standard output, and the files of the others: --format first. */
typedef struct output_list {
    ms_cli_output items[1 + MS_CLI_MAX_OUTPUTS];
    size_t count;
} output_list;

static output_list list_outputs(const ms_cli_settings *s)
{
    output_list list = {.count = 0};
    bool has_stdout = false;
    for (size_t i = 0; i < s->output_count; i++)
        has_stdout = has_stdout || strcmp(s->outputs[i].path, "-") == 0;
    if (s->format || s->file || !(s->quiet || has_stdout))
        list.items[list.count++] = (ms_cli_output){ms_cli_format(s), s->file ? s->file : "-"};
    for (size_t i = 0; i < s->output_count; i++)
        list.items[list.count++] = s->outputs[i];
    return list;
}

static bool is_asked(const output_list *list, const char *format)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].format, format) == 0)
            return true;
    return false;
}

/* Whether a program may read standard output: more lines would break its format. */
static bool is_stdout_for_programs(const output_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].path, "-") == 0 &&
            strcmp(list->items[i].format, "console") != 0 &&
            strcmp(list->items[i].format, "human") != 0)
            return true;
    return false;
}

static bool is_in_workflow(void)
{
    const char *actions = getenv("GITHUB_ACTIONS");
    return actions && strcmp(actions, "true") == 0;
}

/* What a workflow reads by itself; before anything else, so that nothing that is written can keep
 * the runner from it. The runner reads standard error as well. */
static ms_status write_for_github(const output_list *list, const ms_check *check, ms_error *err)
{
    const char *summary = getenv("GITHUB_STEP_SUMMARY");
    ms_cli_source source = {.write = write_check, .check = check, .format = "github"};
    ms_status status = MS_OK;
    if (!is_in_workflow())
        return MS_OK;
    if (!is_asked(list, "github") && is_stdout_for_programs(list))
        status = ms_cli_write_stderr(&source, err);
    else if (!is_asked(list, "github"))
        status = ms_cli_write_file("-", &source, err);
    source.format = "md";
    if (status == MS_OK && summary && *summary)
        status = ms_cli_append_file(summary, &source, err);
    return status;
}

/* GitHub reads paths from the top of the checkout, wherever a step runs. */
static void name_files_for_github(ms_check *check, char root[PATH_MAX], char folder[PATH_MAX])
{
    const char *workspace = getenv("GITHUB_WORKSPACE");
    if (is_in_workflow() && workspace && *workspace && realpath(workspace, root) &&
        getcwd(folder, PATH_MAX))
        ms_check_set_root(check, root, folder);
}

static ms_status check_places(const output_list *list, ms_error *err)
{
    const char *summary = getenv("GITHUB_STEP_SUMMARY");
    ms_cli_targets targets = {.count = 0};
    for (size_t i = 0; i < list->count; i++)
        ms_cli_targets_add(&targets, NULL, list->items[i].path);
    if (is_in_workflow() && summary && *summary)
        ms_cli_targets_add(&targets, NULL, summary);
    return ms_cli_targets_check(&targets, err);
}

static ms_status write_reports(const ms_cli_settings *s, ms_check *check, ms_error *err)
{
    char root[PATH_MAX], folder[PATH_MAX];
    ms_style style =
        ms_cli_style(s->file && s->color != MS_COLOR_ALWAYS ? MS_COLOR_NEVER : s->color);
    ms_status status = MS_OK;
    ms_check_set_style(check, &style);
    name_files_for_github(check, root, folder);
    const output_list list = list_outputs(s);
    if (check_places(&list, err) != MS_OK)
        return err->status;
    ms_error unread = {.status = MS_OK};
    write_for_github(&list, check, &unread);
    for (size_t i = 0; status == MS_OK && i < list.count; i++)
        status = write_one(check, list.items[i].format, list.items[i].path, err);
    if (status == MS_OK && unread.status != MS_OK)
        *err = unread;
    return err->status;
}

static int check_budgets(const ms_cli_settings *s, ms_error *err)
{
    const ms_check_options wanted = {.threads = s->jobs,
                                     .warn_only = s->warn_only,
                                     .no_plans = s->no_plans,
                                     .calibration = s->calibration,
                                     .inputs = ms_cli_inputs()};
    if (s->root && ms_inputs_set_root(ms_cli_inputs(), s->root, err) != MS_OK)
        return ms_cli_complain(err);
    ms_check *check = ms_check_run(ms_cli_budgets(s), &wanted, err);
    if (!check)
        return ms_cli_complain(err);
    ms_status status = write_reports(s, check, err);
    int code = ms_check_exit_code(check);
    ms_check_free(check);
    return status == MS_OK ? code : ms_cli_complain(err);
}

static int run(const ms_cli_call *call)
{
    ms_cli_settings settings = {0};
    return ms_cli_run(call, &settings, check_budgets);
}

static const char *const examples[] = {
    "memscope check",
    "the budgets of memscope.budgets.json here; exit status 1 when one is exceeded",
    ("memscope check --budgets ci/memscope.budgets.json --output junit=memory.xml --output "
     "sarif=memory.sarif"),
    "with machine-readable reports beside the one for people",
    NULL,
};

static const char outcomes[] =
    "  0   every run is within its budget\n"
    "  1   a budget is exceeded\n"
    "  3   a budget is exceeded, and no plan was found that fits\n"
    "  4   unknown: the answer depends on settings that are not predicted\n";

const ms_cli_command ms_cli_check = {
    .name = "check",
    .arguments = "[OPTION...]",
    .help = "Check that runs stay within the budgets of a file.",
    .examples = examples,
    .grammar = &grammar,
    .outcomes = outcomes,
    .run = run,
};
