/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memscope check: whether runs keep their budgets.
 */
#define _XOPEN_SOURCE 700 /* for realpath; NOLINT(bugprone-reserved-identifier) */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static const char default_budgets[] = "memscope.budgets.json";

static const char *format_at(size_t index)
{
    const ms_report_format *format = ms_check_format_at(index);
    return format ? format->name : NULL;
}

static ms_status set_warn_only(ms_cli_settings *s, const char *value, ms_error *err)
{
    (void)value, (void)err;
    s->warn_only = true;
    return MS_OK;
}

static ms_status set_no_plans(ms_cli_settings *s, const char *value, ms_error *err)
{
    (void)value, (void)err;
    s->no_plans = true;
    return MS_OK;
}

static ms_status set_calibration(ms_cli_settings *s, const char *value, ms_error *err)
{
    s->calibration = value;
    if (*value && strcmp(value, "-") != 0)
        return MS_OK;
    return ms_cli_fail(err, MS_ERR_USAGE,
                       "--calibration wants the name of a file, which is read for every budget");
}

static ms_status refuse_word(ms_cli_settings *s, const char *word, ms_error *err)
{
    (void)s;
    return ms_cli_fail(err, MS_ERR_USAGE, "what is %.80s? A file of budgets goes with --budgets",
                       word);
}

/* clang-format off */
static const ms_cli_option options[] = {
    {"budgets",   0,   "FILE",     "what to check [memscope.budgets.json]",                   ms_cli_set_budgets},
    {"warn-only", 0,   NULL,       "exit status 0 when a budget is exceeded",                 set_warn_only},
    {"calibration", 0, "FILE",     "what calibrate says of a device, for the budgets of that device", set_calibration},
    {"no-plans",  0,   NULL,       "do not look for what would fit again",                    set_no_plans},
    {"jobs",      'j', "N",        "budgets at a time [one per processor]",                   ms_cli_set_jobs},
    {"format",    0,   "NAME",     "console, json, md, junit, github, sarif, gitlab, custom-smaller-is-better, shields or prometheus", ms_cli_set_format},
    {"file",      'o', "FILE",     "where --format goes; - is standard output",               ms_cli_set_file},
    {"output",    0,   "FMT=FILE", "another report; may be repeated",                         ms_cli_add_output},
    {"quiet",     'q', NULL,       "no console report, no messages but errors",               ms_cli_set_quiet},
    {"color",     0,   "WHEN",     "auto, always or never",                                   ms_cli_set_color},
    {"no-color",  0,   NULL,       "the same as --color=never",                               ms_cli_set_no_color},
    {"help",      'h', NULL,       "this text",                                               ms_cli_set_help},
    {NULL,        0,   NULL,       NULL,                                                      NULL},
};
/* clang-format on */

static const ms_cli_fields no_fields[] = {{.list = NULL}};

const ms_cli_grammar ms_cli_check_grammar = {
    .options = options,
    .fields = no_fields,
    .take_word = refuse_word,
    .format_at = format_at,
    .notes =
        "\nIn a GitHub workflow (GITHUB_ACTIONS=true) annotations go to standard output as "
        "well, and the\nMarkdown to the job's summary. --warn-only hides no budget that cannot "
        "be read.\n",
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

static bool is_asked(const ms_cli_settings *s, const char *format)
{
    for (size_t i = 0; i < s->output_count; i++)
        if (strcmp(s->outputs[i].format, format) == 0)
            return true;
    return s->format && strcmp(s->format, format) == 0;
}

/* What a workflow reads by itself. */
static ms_status write_for_github(const ms_cli_settings *s, const ms_check *check, ms_error *err)
{
    const char *actions = getenv("GITHUB_ACTIONS"), *summary = getenv("GITHUB_STEP_SUMMARY");
    ms_status status = MS_OK;
    if (!actions || strcmp(actions, "true") != 0)
        return MS_OK;
    if (!is_asked(s, "github"))
        status = write_one(check, "github", "-", err);
    const ms_cli_source source = {.write = write_check, .check = check, .format = "md"};
    if (status == MS_OK && summary && *summary)
        status = ms_cli_append_file(summary, &source, err);
    return status;
}

/* GitHub reads paths from the top of the checkout, wherever a step runs. */
static void name_files_for_github(ms_check *check, char root[PATH_MAX], char folder[PATH_MAX])
{
    const char *actions = getenv("GITHUB_ACTIONS"), *workspace = getenv("GITHUB_WORKSPACE");
    if (actions && strcmp(actions, "true") == 0 && workspace && *workspace &&
        realpath(workspace, root) && getcwd(folder, PATH_MAX))
        ms_check_set_root(check, root, folder);
}

static ms_status write_reports(const ms_cli_settings *s, ms_check *check, ms_error *err)
{
    char root[PATH_MAX], folder[PATH_MAX];
    ms_style style =
        ms_cli_style(s->file && s->color != MS_COLOR_ALWAYS ? MS_COLOR_NEVER : s->color);
    ms_status status = MS_OK;
    ms_check_set_style(check, &style);
    name_files_for_github(check, root, folder);
    if (s->format || s->file || !s->quiet)
        status = write_one(check, ms_cli_format(s), s->file ? s->file : "-", err);
    for (size_t i = 0; status == MS_OK && i < s->output_count; i++)
        status = write_one(check, s->outputs[i].format, s->outputs[i].path, err);
    return status == MS_OK ? write_for_github(s, check, err) : status;
}

static int check_budgets(const ms_cli_settings *s, ms_error *err)
{
    const ms_check_options wanted = {.threads = s->jobs,
                                     .warn_only = s->warn_only,
                                     .no_plans = s->no_plans,
                                     .calibration = s->calibration};
    ms_check *check = ms_check_run(s->config ? s->config : default_budgets, &wanted, err);
    if (!check)
        return ms_cli_complain(err);
    ms_status status = write_reports(s, check, err);
    int code = ms_check_exit_code(check);
    ms_check_free(check);
    return status == MS_OK ? code : ms_cli_complain(err);
}

int ms_cli_check(int argc, char **argv)
{
    ms_cli_settings settings = {0};
    return ms_cli_run(argc, argv, "check", &settings, check_budgets);
}

/* ---- baselines ---- */

static ms_status set_update(ms_cli_settings *s, const char *value, ms_error *err)
{
    (void)value, (void)err;
    s->update = true;
    return MS_OK;
}

/* clang-format off */
static const ms_cli_option baseline_options[] = {
    {"update",    0,   NULL,       "write those that are missing or not current",             set_update},
    {"budgets",   0,   "FILE",     "whose baselines [memscope.budgets.json]",                 ms_cli_set_budgets},
    {"jobs",      'j', "N",        "budgets at a time [one per processor]",                   ms_cli_set_jobs},
    {"quiet",     'q', NULL,       "no messages but errors",                                  ms_cli_set_quiet},
    {"help",      'h', NULL,       "this text",                                               ms_cli_set_help},
    {NULL,        0,   NULL,       NULL,                                                      NULL},
};
/* clang-format on */

static const char *no_format_at(size_t index)
{
    (void)index;
    return NULL;
}

const ms_cli_grammar ms_cli_baseline_grammar = {
    .options = baseline_options,
    .fields = no_fields,
    .take_word = refuse_word,
    .format_at = no_format_at,
    .notes = "\nA baseline is the static report of a budget's run, at the path that its budget "
             "names. Nothing\nin it changes from day to day or from machine to machine.\n",
};

static ms_status write_report(FILE *out, const ms_cli_source *source, ms_error *err)
{
    return ms_check_write_baseline(source->check, source->index, out, err);
}

static ms_status write_baseline(const ms_check *check, size_t index, const char *path,
                                ms_error *err)
{
    const ms_cli_source source = {.write = write_report, .check = check, .index = index};
    const char *slash = strrchr(path, '/');
    char *folder = slash && slash > path ? strndup(path, (size_t)(slash - path)) : NULL;
    ms_status status = MS_OK;
    if (folder)
        status = ms_cli_make_directory(folder, err);
    else if (slash && slash > path)
        status = ms_cli_fail(err, MS_ERR_NOMEM, "no memory for a path");
    free(folder);
    return status == MS_OK ? ms_cli_write_file(path, &source, err) : status;
}

/* One baseline; `code` becomes that of the worst so far. */
static ms_status handle(const ms_cli_settings *s, const ms_check *check, size_t index,
                        const ms_baseline *b, int *code, ms_error *err)
{
    if (b->error) {
        *code = ms_cli_complain(b->error);
        return MS_OK;
    }
    const char *state = !b->path        ? "none"
                        : b->is_current ? "current"
                        : s->update     ? "written"
                        : b->is_there   ? "stale"
                                        : "missing";
    bool is_open = b->path && !b->is_current;
    if (is_open && s->update && write_baseline(check, index, b->path, err) != MS_OK)
        return err->status;
    if (!s->quiet)
        printf("%-8s %s%s%s\n", state, b->name, b->path ? ": " : "", b->path ? b->path : "");
    if (is_open && !s->update && *code == 0)
        *code = EXIT_DIFFERENT;
    return MS_OK;
}

static int keep_baselines(const ms_cli_settings *s, ms_error *err)
{
    const ms_check_options wanted = {.threads = s->jobs, .for_baselines = true};
    ms_check *check = ms_check_run(s->config ? s->config : default_budgets, &wanted, err);
    if (!check)
        return ms_cli_complain(err);
    ms_baseline baseline;
    int code = 0;
    ms_status status = MS_OK;
    for (size_t i = 0; status == MS_OK && ms_check_baseline(check, i, &baseline); i++)
        status = handle(s, check, i, &baseline, &code, err);
    ms_check_free(check);
    return status == MS_OK ? code : ms_cli_complain(err);
}

int ms_cli_baseline(int argc, char **argv)
{
    ms_cli_settings settings = {0};
    return ms_cli_run(argc, argv, "baseline", &settings, keep_baselines);
}
