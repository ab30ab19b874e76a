/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memscope baseline: the reports that budgets are compared with.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/commands.h"
#include "cli/output/file.h"
#include "cli/output/guard.h"
#include "cli/output/message.h"
#include "cli/parse/options.h"
#include "cli/parse/run.h"

/* clang-format off */
static const ms_cli_option options[] = {
    {"update",    0,   NULL,       "write baselines that are missing or out of date", MS_CLI_FLAG(update)},
    {"budgets",   0,   "FILE",     "file of budgets [memscope.budgets.json]", MS_CLI_TEXT(config, "a file")},
    {"root",      0,   "DIR",      "read and write files only in this folder [read anywhere, write beside the budgets]", MS_CLI_TEXT(root, "a folder")},
    {"jobs",      'j', "N",        "budgets checked in parallel [one per processor]", .apply = ms_cli_set_jobs},
    {"quiet",     'q', NULL,       "print no messages except errors", MS_CLI_FLAG(quiet)},
    MS_CLI_HELP_ROW,
};
/* clang-format on */

static const char *no_format_at(size_t index)
{
    (void)index;
    return NULL;
}

static const ms_cli_grammar grammar = {
    .options = options,
    .fields = ms_cli_no_fields,
    .take_word = ms_cli_refuse_word,
    .format_at = no_format_at,
    .notes = "\nA baseline is the static report of a budget's run, at the path that its budget "
             "names. Nothing\nin it changes from day to day or from machine to machine. "
             "A file that is not a static\nreport is never replaced; --update then ends with "
             "status 2.\n",
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

static void print_state(const char *state, const ms_baseline *b)
{
    char name[MS_CLI_PRINTABLE_BYTES], path[MS_CLI_PRINTABLE_BYTES];
    printf("%-8s %s%s%s\n", state, ms_cli_printable(b->name, name), b->path ? ": " : "",
           ms_cli_printable(b->path, path));
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
        print_state(state, b);
    if (is_open && !s->update && *code == 0)
        *code = EXIT_DIFFERENT;
    return MS_OK;
}

static int keep_baselines(const ms_cli_settings *s, ms_error *err)
{
    const ms_check_options wanted = {
        .threads = s->jobs, .for_baselines = true, .inputs = ms_cli_inputs()};
    if (s->root && ms_inputs_set_root(ms_cli_inputs(), s->root, err) != MS_OK)
        return ms_cli_complain(err);
    ms_check *check = ms_check_run(ms_cli_budgets(s), &wanted, err);
    if (!check)
        return ms_cli_complain(err);
    ms_baseline baseline;
    int code = 0;
    ms_status status = ms_cli_guard_output("-", err);
    for (size_t i = 0; ms_check_baseline(check, i, &baseline); i++)
        if (baseline.refusal)
            code = ms_cli_complain(baseline.refusal);
    if (code != 0) {
        ms_check_free(check);
        return code;
    }
    for (size_t i = 0; status == MS_OK && ms_check_baseline(check, i, &baseline); i++)
        status = handle(s, check, i, &baseline, &code, err);
    ms_check_free(check);
    return status == MS_OK ? code : ms_cli_complain(err);
}

static int run(const ms_cli_call *call)
{
    ms_cli_settings settings = {0};
    return ms_cli_run(call, &settings, keep_baselines);
}

static const char *const examples[] = {
    "memscope baseline --update",
    "write the report that each budget is compared with; commit them",
    "memscope baseline",
    "which of them are out of date",
    NULL,
};

static const char outcomes[] = "  0   all are up to date, or were written\n"
                               "  1   one is missing or out of date\n";

const ms_cli_command ms_cli_baseline = {
    .name = "baseline",
    .arguments = "[OPTION...]",
    .help = "Write or check the baselines that budgets are compared with.",
    .examples = examples,
    .grammar = &grammar,
    .outcomes = outcomes,
    .run = run,
};
