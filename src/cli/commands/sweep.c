/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memscope sweep: writes rows as they are computed, and resumes after an interruption.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands/commands.h"
#include "cli/output/file.h"
#include "cli/output/guard.h"
#include "cli/output/message.h"
#include "cli/output/terminal.h"
#include "cli/output/rows_file.h"
#include "cli/parse/formats.h"
#include "cli/parse/options.h"
#include "cli/parse/run.h"

/* ---- options ---- */

static ms_status set_sweep(ms_cli_settings *s, const char *field, const char *value, ms_error *err)
{
    return ms_sweep_set(s->sweep, field, value, err);
}

static ms_status set_run(ms_cli_settings *s, const char *field, const char *value, ms_error *err)
{
    return ms_sweep_set_run(s->sweep, field, value, err);
}

static ms_status take_config(ms_cli_settings *s, const char *word, ms_error *err)
{
    return ms_sweep_set_run(s->sweep, "config", word, err);
}

static ms_status set_jobs(ms_cli_settings *s, const char *value, ms_error *err)
{
    return ms_sweep_set(s->sweep, "jobs", value, err);
}

/* The table for people, then the formats of rows. */
static const char for_people[] = "console", for_merge[] = "csv";

static const char *format_at(size_t index)
{
    return index == 0 ? for_people : ms_sweep_format_at(index - 1);
}

/* clang-format off */
static const ms_cli_option options[] = {
    {"format",   0,   "NAME", "console, csv or jsonl [by the file name's ending, else console]", .apply = ms_cli_set_format},
    {"file",     'o', "FILE", "output file; csv and jsonl are FILE.part until complete", MS_CLI_PATH(file)},
    {"resume",   0,   NULL,   "continue after the rows in FILE.part", MS_CLI_FLAG(resume)},
    {"jobs",     'j', "N",    "points computed in parallel [one per processor]", .apply = set_jobs},
    {"quiet",    'q', NULL,   "print no progress and no messages except errors", MS_CLI_FLAG(quiet)},
    MS_CLI_COLOR_ROWS,
    MS_CLI_HELP_ROW,
};
/* clang-format on */

static const ms_cli_fields field_lists[] = {
    {.list = ms_sweep_fields, .set = set_sweep},
    {.list = ms_run_fields, .set = set_run, .adds = true},
    {.list = NULL},
};

static const ms_cli_grammar grammar = {
    .options = options,
    .fields = field_lists,
    .take_word = take_config,
    .takes_launch = true,
    .format_at = format_at,
    .notes =
        "\nAn option of a run takes a list: --batch 1,2,4, --seq 1024:131072:*2, --seq "
        "512:8192:+512,\n"
        "--batch 1:8, --device all. If it is given twice, it takes both lists. --treat and --lora, "
        "whose values\n"
        "contain commas, take lists separated by ;, and so may any other. A point is one value of "
        "each;\n"
        "the last option given changes fastest. With --runs each line of the file is combined\n"
        "with each of these points; an empty cell sets nothing.\n"
        "\n"
        "The table for people is written once all points are computed; rows in csv or jsonl are\n"
        "written as they come, and --resume and --shard are for them.\n",
};

/* ---- running ---- */

typedef struct sweeping {
    const ms_cli_settings *settings;
    ms_sweep *sweep;
    ms_cli_rows rows;
    ms_cli_progress progress;
    bool is_table; /* rows are shown at the end, in a table */
    FILE *spool;   /* rows that are shown or chosen from at the end; else NULL */
    ms_error *err;
} sweeping;

static bool has_frontier(const sweeping *w)
{
    return *ms_sweep_get(w->sweep, "frontier") != '\0';
}

static ms_status take_row(void *context, const char *row, size_t length, ms_error *err)
{
    sweeping *w = context;
    ms_status status = MS_OK;
    if (!w->spool)
        status = ms_cli_rows_add(&w->rows, row, length, err);
    else if (fwrite(row, 1, length, w->spool) != length)
        status = ms_cli_fail_errno(err, "write", "a temporary file");
    ms_cli_progress_show(&w->progress, ms_sweep_progress_of(w->sweep));
    return status;
}

static ms_status resume(sweeping *w)
{
    uint64_t whole_bytes = 0;
    FILE *written = ms_cli_rows_read(&w->rows, w->err);
    if (!written)
        return w->err->status;
    ms_status status = ms_sweep_resume(
        w->sweep, written, w->rows.is_whole ? w->rows.path : w->rows.part, &whole_bytes, w->err);
    fclose(written);
    const ms_sweep_progress *p = ms_sweep_progress_of(w->sweep);
    w->rows.whole_bytes = whole_bytes;
    if (status == MS_OK && !(w->rows.is_whole && p->done == p->rows))
        status = ms_cli_rows_cut(&w->rows, whole_bytes, w->err);
    return status;
}

static ms_status make_spool(FILE **spool, ms_error *err)
{
    *spool = tmpfile();
    return *spool ? MS_OK : ms_cli_fail_errno(err, "make", "a temporary file");
}

/* Opens what rows go to, and finds out how many are there. */
static ms_status open_rows(sweeping *w)
{
    const ms_cli_settings *s = w->settings;
    ms_status status = w->is_table ? MS_OK : ms_cli_rows_open(&w->rows, s->file, s->resume, w->err);
    if (status == MS_OK && s->resume)
        status = resume(w);
    if (status == MS_OK && (w->is_table || (has_frontier(w) && !w->rows.part)))
        status = make_spool(&w->spool, w->err);
    const char *header = ms_sweep_header(w->sweep);
    if (status == MS_OK && w->rows.whole_bytes == 0 && *header)
        status = take_row(w, header, strlen(header), w->err);
    return status;
}

static void stop(void *sweep)
{
    ms_sweep_stop(sweep);
}

static ms_status run_points(sweeping *w)
{
    static const int signals[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        ms_cli_stop_on_signal(signals[i], stop, w->sweep);
    w->progress = ms_cli_progress_begin(w->settings->quiet, ms_sweep_progress_of(w->sweep)->done);
    ms_status status = ms_sweep_run(w->sweep, take_row, w, w->err);
    ms_cli_progress_end(&w->progress);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        ms_cli_stop_on_signal(signals[i], NULL, NULL);
    return status;
}

/* ---- at the end ---- */

static ms_status write_frontier(FILE *out, const ms_cli_source *source, ms_error *err)
{
    const sweeping *w = source->data;
    FILE *rows = w->spool ? w->spool : ms_cli_rows_read(&w->rows, err);
    if (!rows)
        return err->status;
    rewind(rows);
    ms_status status =
        ms_sweep_frontier(rows, "the rows", ms_sweep_get(w->sweep, "objectives"), out, err);
    if (!w->spool)
        fclose(rows);
    return status;
}

static ms_status write_table(FILE *out, const ms_cli_source *source, ms_error *err)
{
    static const char name[] = "the rows";
    const sweeping *w = source->data;
    ms_style style = ms_cli_style(w->settings->file ? MS_COLOR_NEVER : w->settings->color);
    FILE *rows = w->spool, *chosen = NULL;
    ms_status status = MS_OK;
    if (has_frontier(w)) {
        rewind(rows);
        status = make_spool(&chosen, err);
        if (status == MS_OK)
            status =
                ms_sweep_frontier(rows, name, ms_sweep_get(w->sweep, "objectives"), chosen, err);
        rows = chosen;
    }
    if (status == MS_OK) {
        rewind(rows);
        status = ms_sweep_write_table(rows, name, &style, out, err);
    }
    if (chosen)
        fclose(chosen);
    return status;
}

static ms_status finish(sweeping *w)
{
    const ms_cli_source table = {.write = write_table, .data = w};
    if (w->is_table)
        return ms_cli_write_file(w->settings->file ? w->settings->file : "-", &table, w->err);
    const ms_cli_source frontier = {.write = write_frontier, .data = w};
    if (!has_frontier(w))
        return ms_cli_rows_finish(&w->rows, w->err);
    ms_status status =
        ms_cli_write_file(w->settings->file ? w->settings->file : "-", &frontier, w->err);
    if (status == MS_OK && w->rows.part)
        (void)unlink(w->rows.part);
    return status;
}

/* A reader that went away is not an error. A stopped sweep prints how to continue. */
static int report(const sweeping *w, ms_status status)
{
    const ms_sweep_progress *p = ms_sweep_progress_of(w->sweep);
    if (w->rows.is_closed)
        return EXIT_FITS;
    if (status != MS_OK) {
        int code = ms_cli_complain(w->err);
        if (w->rows.part && access(w->rows.part, F_OK) == 0 && p->done > 0 && !w->settings->quiet)
            ms_cli_say("%" PRIu64 " of %" PRIu64 " rows are in %s%s", p->done, p->rows,
                       w->rows.part, p->done < p->rows ? "; --resume continues" : "");
        return code;
    }
    if (w->rows.part && !w->settings->quiet)
        ms_cli_say("wrote %s: %" PRIu64 " rows%s", w->settings->file, p->rows,
                   has_frontier(w) ? ", reduced to the Pareto front" : "");
    if (p->errors > 0 && !w->settings->quiet && !w->is_table)
        fprintf(stderr, "%" PRIu64 " rows have no figures; their last column states why\n",
                p->errors);
    return p->errors > 0 ? EXIT_OVER_BUDGET : EXIT_FITS;
}

/* Rows that are continued or joined are for programs. */
static const char *format_of(const ms_cli_settings *s, bool is_shard)
{
    const char *format = ms_cli_format(s);
    bool is_chosen = s->format || strcmp(format, for_people) != 0;
    return !is_chosen && (s->resume || is_shard) ? for_merge : format;
}

static ms_status set_format(sweeping *w)
{
    const ms_cli_settings *s = w->settings;
    const char *format = format_of(s, *ms_sweep_get(w->sweep, "shard") != '\0');
    w->is_table = strcmp(format, for_people) == 0;
    if (w->is_table && s->resume)
        return ms_cli_fail(
            w->err, MS_ERR_USAGE,
            "--resume works with rows in csv or jsonl, because a table is written only at the end");
    return ms_sweep_set(w->sweep, "format", w->is_table ? for_merge : format, w->err);
}

static int sweep(const ms_cli_settings *s, ms_error *err)
{
    sweeping w = {.settings = s, .sweep = s->sweep, .rows = {.fd = -1}, .err = err};
    ms_status status = set_format(&w);
    if (status == MS_OK)
        status = ms_sweep_open(s->sweep, err);
    if (status == MS_OK)
        status = open_rows(&w);
    if (status == MS_OK)
        status = run_points(&w);
    if (status == MS_OK)
        status = finish(&w);
    int code = report(&w, status);
    if (w.spool)
        fclose(w.spool);
    ms_cli_rows_close(&w.rows);
    return code;
}

static int run(const ms_cli_call *call)
{
    ms_cli_settings settings = {.sweep = ms_sweep_create()};
    if (!settings.sweep)
        return ms_cli_no_memory();
    int code = ms_cli_run(call, &settings, sweep);
    ms_sweep_free(settings.sweep);
    return code;
}

static const char *const examples[] = {
    ("memscope sweep llama-3.1-8b --batch 1,2,4,8 --seq 1024:131072:*2 --checkpointing none,all "
     "--device all -o grid.csv"),
    "every combination of these, on all cores; --resume continues after an interruption",
    "memscope sweep --runs runs.csv --device h100-80gb --format jsonl",
    "one run per line of the file, whose header names options",
    "memscope sweep llama-3.1-8b,qwen3-8b --checkpointing none,all --device all --fit seq",
    "the longest sequence that fits each device",
    "memscope sweep llama-3.1-8b --batch 1:64 --checkpointing none,all --frontier",
    "the Pareto front of memory and tokens per second",
    "memscope sweep llama-3.1-8b --batch 1:64 --seq 512:8192:+512 --shard 2/8 -o rows-2.csv",
    "the second eighth of the points; memscope merge joins the eight files",
    NULL,
};

static const char outcomes[] = "  0   every row has figures\n"
                               "  1   some rows state why they have none\n";

const ms_cli_command ms_cli_sweep = {
    .name = "sweep",
    .arguments = "[OPTION...] [CONFIG]",
    .help = "Predict many runs, from a grid or a table, one row each.",
    .examples = examples,
    .grammar = &grammar,
    .outcomes = outcomes,
    .run = run,
};
