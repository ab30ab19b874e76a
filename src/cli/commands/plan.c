/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memscope plan: its options are the fields of a plan, the fields of a run and those below.
 */
#include <stdlib.h>
#include <string.h>

#include <signal.h>

#include "cli/commands/commands.h"
#include "cli/commands/devices.h"
#include "cli/output/file.h"
#include "cli/output/guard.h"
#include "cli/output/message.h"
#include "cli/output/terminal.h"
#include "cli/parse/formats.h"
#include "cli/parse/options.h"
#include "cli/parse/run.h"

static const char *format_at(size_t index)
{
    const ms_report_format *format = ms_plan_format_at(index);
    return format ? format->name : NULL;
}

static ms_status set_plan(ms_cli_settings *s, const char *field, const char *value, ms_error *err)
{
    return ms_plan_set(s->plan, field, value, err);
}

static ms_status set_run(ms_cli_settings *s, const char *field, const char *value, ms_error *err)
{
    return ms_cli_take_devices(s, field, value) ? MS_OK
                                                : ms_plan_set_run(s->plan, field, value, err);
}

static ms_status take_config(ms_cli_settings *s, const char *word, ms_error *err)
{
    return ms_plan_set_run(s->plan, "config", word, err);
}

/* clang-format off */
static const ms_cli_option options[] = {
    {"format",   0,   "NAME", "console, json, md or html; for a curve also csv or svg", .apply = ms_cli_set_format},
    {"file",     'o', "FILE", "output file; - is standard output", MS_CLI_PATH(file)},
    {"quiet",    'q', NULL,   "print no messages except errors", MS_CLI_FLAG(quiet)},
    MS_CLI_COLOR_ROWS,
    MS_CLI_HELP_ROW,
};
/* clang-format on */

/* What a plan decides itself. */
static const char *const decided[] = {"checkpointing", "treat", "plan", NULL};

static const ms_cli_fields field_lists[] = {
    {.list = ms_plan_fields, .set = set_plan},
    {.list = ms_run_fields, .set = set_run, .without = decided},
    {.list = NULL},
};

static const ms_cli_grammar grammar = {
    .options = options,
    .fields = field_lists,
    .take_word = take_config,
    .format_at = format_at,
    .takes_launch = true,
    .notes =
        "\nSizes carry a unit: B, KiB, MiB, GiB, TiB are powers of 1024; kB, MB, GB, TB of 1000.\n"
        "The model may also be given without --config. The format of the -o file follows from its "
        "name's ending.\n"
        "memscope analyze --plan plan.json runs the step as planned.\n",
};

static ms_status write_plan(FILE *out, const ms_cli_source *source, ms_error *err)
{
    return ms_plan_write(source->plan, source->format, out, err);
}

static ms_status write_answer(const ms_cli_settings *s, ms_error *err)
{
    bool to_stdout = !s->file || strcmp(s->file, "-") == 0 || s->color == MS_COLOR_ALWAYS;
    ms_style style = ms_cli_style(to_stdout ? s->color : MS_COLOR_NEVER);
    ms_cli_source source = {.write = write_plan, .plan = s->plan, .format = ms_cli_format(s)};
    ms_plan_set_style(s->plan, &style);
    return ms_cli_write_file(s->file ? s->file : "-", &source, err);
}

static void stop(void *plan)
{
    ms_plan_stop(plan);
}

static int solve_on_devices(const ms_cli_settings *s, ms_error *err)
{
    ms_cli_stop_on_signal(SIGINT, stop, s->plan);
    ms_devices *table = ms_devices_plan(s->plan, s->devices, err);
    ms_cli_stop_on_signal(SIGINT, NULL, NULL);
    return ms_cli_write_devices(s, table, MS_ERR_INFEASIBLE, err);
}

/* That nothing fits is an answer: it is written before the message. */
static int solve(const ms_cli_settings *s, ms_error *err)
{
    if (s->devices)
        return solve_on_devices(s, err);
    ms_cli_stop_on_signal(SIGINT, stop, s->plan);
    ms_status status = ms_plan_solve(s->plan, err);
    ms_cli_stop_on_signal(SIGINT, NULL, NULL);
    const char *note;
    for (size_t i = 0; !s->quiet && (note = ms_plan_note(s->plan, i)) != NULL; i++)
        ms_cli_say("note: %s", note);
    if (status == MS_OK || status == MS_ERR_INFEASIBLE || status == MS_ERR_STOPPED) {
        ms_error write_error = {.status = MS_OK};
        if (write_answer(s, &write_error) != MS_OK)
            return ms_cli_complain(&write_error);
    }
    const int code = status == MS_OK ? EXIT_FITS : ms_cli_complain(err);
    bool is_answer = status == MS_OK || status == MS_ERR_INFEASIBLE;
    return is_answer && ms_plan_verdict(s->plan) == MS_VERDICT_UNKNOWN ? EXIT_UNKNOWN : code;
}

static int run(const ms_cli_call *call)
{
    ms_cli_settings settings = {.plan = ms_plan_create()};
    if (!settings.plan)
        return ms_cli_no_memory();
    int code = ms_cli_run(call, &settings, solve);
    ms_plan_free(settings.plan);
    return code;
}

static const char *const examples[] = {
    "memscope plan --config llama-3.1-8b --seq 4096 --device h100-80gb --budget 70GiB",
    "which layers to checkpoint, offload or tile, at the least cost in time",
    "memscope plan llama-3.1-8b --seq 4096 --budget 70GiB --target torchtitan -o plan.json",
    "only what a trainer can express; memscope analyze --plan plan.json reads the plan",
    "memscope plan llama-3.1-8b --seq 4096 --curve -o curve.svg",
    "time against budget, as a picture",
    "memscope plan llama-3.1-8b --seq 8192 --device all",
    "which devices a plan fits, and what it costs in time",
    "memscope plan --graph modules.json --budget 40GiB --world-size 8",
    "which modules to checkpoint, with the least recomputation",
    "memscope plan --ops operators.json --memory-budget 0.5 --format json -o -",
    "which operators of a module to save",
    NULL,
};

static const char outcomes[] =
    "  0   the plan fits the budget, even if only just (tight); with several devices, on at least "
    "one\n"
    "  3   no plan was found that fits the budget\n"
    "  4   unknown: the answer depends on settings that are not predicted\n"
    "  130 interrupted (Ctrl-C); the best plan found by then is written\n";

const ms_cli_command ms_cli_plan = {
    .name = "plan",
    .arguments = "[OPTION...] [CONFIG]",
    .help = "Plan how to treat layers so that a step fits a budget.",
    .examples = examples,
    .grammar = &grammar,
    .outcomes = outcomes,
    .run = run,
};
