/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memscope fit: finds the largest batch, sequence, rank or number of layers that fits, or the
 * fewest GPUs.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/commands/commands.h"
#include "cli/commands/devices.h"
#include "cli/output/file.h"
#include "cli/output/message.h"
#include "cli/output/terminal.h"
#include "cli/parse/formats.h"
#include "cli/parse/options.h"
#include "cli/parse/run.h"

static const char default_what[] = "batch";

/* clang-format off */
static const ms_cli_option options[] = {
    {"what",     0,   "NAME",  "find the largest batch, seq, rank or layers, or the fewest gpus [batch]", MS_CLI_CHOICE(what, ms_fit_what_name)},
    {"step",     0,   "N",     "try only multiples of N [1, for seq 64]", MS_CLI_NUMBER(step, UINT64_MAX)},
    {"format",   0,   "NAME",  NULL, .apply = ms_cli_set_format},
    {"file",     'o', "FILE",  "output file; - is standard output", MS_CLI_PATH(file)},
    {"quiet",    'q', NULL,    "print no messages except errors", MS_CLI_FLAG(quiet)},
    MS_CLI_COLOR_ROWS,
    MS_CLI_HELP_ROW,
};
/* clang-format on */

static const ms_cli_grammar grammar = {
    .options = options,
    .fields = ms_cli_many_run_fields,
    .take_word = ms_cli_take_config,
    .takes_launch = true,
    .format_at = ms_fit_format_at,
    .notes =
        "\nThe run's own value of what is searched is ignored; added layers are like the model's "
        "own.\n"
        "GPUs share the training as --parallel says, or with fsdp=N (FSDP2); each takes the given\n"
        "batch.\n"
        "The configuration may also be given without --config; - reads standard input.\n",
};

static ms_status write_fit(FILE *out, const ms_cli_source *source, ms_error *err)
{
    return ms_fit_write(source->fit, source->format, out, err);
}

static ms_status write_answer(const ms_cli_settings *s, ms_fit *fit, ms_error *err)
{
    ms_style style = ms_cli_style(s->file ? MS_COLOR_NEVER : s->color);
    const ms_cli_source source = {.write = write_fit, .fit = fit, .format = ms_cli_format(s)};
    ms_fit_set_style(fit, &style);
    return ms_cli_write_file(s->file ? s->file : "-", &source, err);
}

static int find(const ms_cli_settings *s, ms_error *err)
{
    const char *note, *what = s->what ? s->what : default_what;
    if (s->devices)
        return ms_cli_write_devices(s, ms_devices_fit(s->run, s->devices, what, s->step, err),
                                    MS_ERR_OVER_BUDGET, err);
    ms_fit *fit = ms_fit_find(s->run, what, s->step, err);
    if (!fit)
        return ms_cli_complain(err);
    for (size_t i = 0; !s->quiet && (note = ms_fit_note(fit, i)) != NULL; i++)
        ms_cli_say("note: %s", note);
    ms_status status = write_answer(s, fit, err);
    ms_fit_verdict verdict = ms_fit_verdict_of(fit);
    ms_fit_free(fit);
    if (status != MS_OK)
        return ms_cli_complain(err);
    return ms_cli_exit_code_of(verdict);
}

static int run(const ms_cli_call *call)
{
    return ms_cli_run_with_run(call, find);
}

static const char *const examples[] = {
    "memscope fit llama-3.1-8b --checkpointing all --device h100-80gb",
    "the largest batch that fits, the largest safe one, and why the next does not",
    "memscope fit llama-3.2-1b --what seq --lora r=16,targets=all-linear --device rtx-4090",
    "the longest sequence",
    "memscope fit llama-3.1-70b --what gpus --step 8 --checkpointing all --device h100-80gb",
    "the fewest GPUs, in hosts of eight",
    "memscope fit llama-3.1-8b --what seq --checkpointing all --device all",
    "the longest sequence on each device",
    NULL,
};

static const char outcomes[] =
    "  0   something fits, even if only just (tight); with several devices, on at least one\n"
    "  1   nothing fits\n"
    "  4   unknown: the answer depends on settings that are not predicted\n";

const ms_cli_command ms_cli_fit = {
    .name = "fit",
    .arguments = "[OPTION...] [CONFIG]",
    .help = "Find the largest batch, sequence, rank or depth that fits, or the fewest GPUs.",
    .examples = examples,
    .grammar = &grammar,
    .outcomes = outcomes,
    .run = run,
};
