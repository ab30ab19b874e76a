/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memscope merge: joins shards, or writes the Pareto front of a file's rows.
 */
#include <string.h>
#include <sys/resource.h>

#include "cli/commands/commands.h"
#include "cli/output/file.h"
#include "cli/output/guard.h"
#include "cli/output/message.h"
#include "cli/parse/options.h"
#include "cli/parse/run.h"

static ms_status take_path(ms_cli_settings *s, const char *word, ms_error *err)
{
    if (strcmp(word, "-") == 0)
        return ms_cli_fail(err, MS_ERR_USAGE, "rows are read from files, not from standard input");
    s->paths[s->path_count++] = word;
    return MS_OK;
}

/* clang-format off */
static const ms_cli_option options[] = {
    {"file",       'o', "FILE", "output file [standard output]", MS_CLI_PATH(file)},
    {"frontier",   0,   NULL,   "keep only rows of one file that fit and are on the Pareto front", MS_CLI_FLAG(frontier)},
    {"objectives", 0,   "LIST", "columns to compare rows by [expected_device_bytes,tokens_per_s]", MS_CLI_TEXT(objectives, NULL)},
    {"quiet",      'q', NULL,   "print no messages except errors", MS_CLI_FLAG(quiet)},
    MS_CLI_HELP_ROW,
};
/* clang-format on */

static const ms_cli_grammar grammar = {
    .options = options,
    .fields = ms_cli_no_fields,
    .take_word = take_path,
    .format_at = ms_sweep_format_at,
    .notes = "\nThe files may be in any order. If a row is missing, appears twice or comes from "
             "another\n"
             "sweep, merge fails and writes nothing to FILE.\n",
};

static ms_status write_merged(FILE *out, const ms_cli_source *source, ms_error *err)
{
    const ms_cli_settings *s = source->data;
    return ms_sweep_merge(s->paths, s->path_count, out, err);
}

static ms_status write_frontier(FILE *out, const ms_cli_source *source, ms_error *err)
{
    const ms_cli_settings *s = source->data;
    FILE *rows = fopen(s->paths[0], "r");
    if (!rows)
        return ms_cli_fail_errno(err, "read", s->paths[0]);
    ms_status status = ms_sweep_frontier(rows, s->paths[0], s->objectives, out, err);
    fclose(rows);
    return status;
}

/* Every shard is open at the same time. */
static void allow_many_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

static int merge(const ms_cli_settings *s, ms_error *err)
{
    const ms_cli_source source = {.write = s->frontier ? write_frontier : write_merged, .data = s};
    if (s->path_count == 0)
        ms_cli_fail(err, MS_ERR_USAGE, "no files of rows were given");
    else if (s->frontier && s->path_count > 1)
        ms_cli_fail(err, MS_ERR_USAGE, "--frontier takes one file: join the shards first");
    else if (s->objectives && !s->frontier)
        ms_cli_fail(err, MS_ERR_USAGE, "--objectives works only with --frontier");
    if (err->status != MS_OK)
        return ms_cli_complain(err);
    for (size_t i = 0; i < s->path_count; i++)
        if (ms_cli_guard_input(s->paths[i], err) != MS_OK)
            return ms_cli_complain(err);
    allow_many_files();
    ms_status status = ms_cli_write_file(s->file ? s->file : "-", &source, err);
    return status == MS_OK ? EXIT_FITS : ms_cli_complain(err);
}

static int run(const ms_cli_call *call)
{
    return ms_cli_run_with_paths(call, merge);
}

static const char *const examples[] = {
    "memscope merge rows-*.csv -o rows.csv",
    "one file, checked to hold every point exactly once",
    "memscope merge --frontier --objectives expected_device_bytes,tokens_per_s,seq rows.csv",
    "the rows on the Pareto front",
    NULL,
};

static const char outcomes[] = "  0   all rows of the sweep are present\n";

const ms_cli_command ms_cli_merge = {
    .name = "merge",
    .arguments = "[OPTION...] FILE...",
    .help = "Join the shards of a sweep, or keep only its Pareto front.",
    .examples = examples,
    .grammar = &grammar,
    .outcomes = outcomes,
    .run = run,
};
