/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memscope capture: runs a PyTorch program on a stub device for some optimizer steps, and reports
 * its memory.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/capture/session.h"
#include "cli/commands/commands.h"
#include "cli/output/message.h"
#include "cli/parse/options.h"
#include "cli/parse/run.h"

enum { MOST_RANKS = 1 << 20, MOST_DEVICES = 16 };

/* ---- options ---- */

static ms_status set_rank(ms_cli_settings *s, const char *value, ms_error *err)
{
    char *end = NULL;
    errno = 0;
    s->all_ranks = strcmp(value, "all") == 0;
    s->has_rank = !s->all_ranks;
    if (s->all_ranks)
        return MS_OK;
    unsigned long long read = *value >= '0' && *value <= '9' ? strtoull(value, &end, 10) : 0;
    s->rank = read;
    if (!end || *end != '\0' || errno != 0 || read >= MOST_RANKS)
        return ms_cli_fail(err, MS_ERR_USAGE, "--rank: found '%.40s', expected 'all' or 0 to %d",
                           value, MOST_RANKS - 1);
    return MS_OK;
}

static ms_status set_loss(ms_cli_settings *s, const char *value, ms_error *err)
{
    char *end = NULL;
    double read = strtod(value, &end);
    s->loss = value;
    if (end == value || *end != '\0' || !isfinite(read))
        return ms_cli_fail(err, MS_ERR_USAGE, "--answer-loss: found '%.40s', expected a number",
                           value);
    return MS_OK;
}

static ms_status take_word(ms_cli_settings *s, const char *word, ms_error *err)
{
    (void)s;
    return ms_cli_fail(err, MS_ERR_USAGE, "the program goes after --: capture -- %.80s", word);
}

/* clang-format off */
static const ms_cli_option options[] = {
    {"device",     0,   "NAME",    "the device to simulate [a100-80gb]", MS_CLI_TEXT(device, NULL)},
    {"real",       0,   NULL,      "measure on this machine's GPU", MS_CLI_FLAG(is_real)},
    {"device-count", 0, "N",       "number of such devices [1; with --world up to 8]", MS_CLI_NUMBER(device_count, MOST_DEVICES)},
    {"world",      0,   "N",       "run one rank of N; process groups start without the others", MS_CLI_NUMBER(ranks, MOST_RANKS)},
    {"rank",       0,   "R|all",   "the rank to run, or all, one after the other [0, or $RANK]", .apply = set_rank},
    {"steps",      0,   "N",       "optimizer steps; the last one is reported [3]", MS_CLI_NUMBER(step, 1000000)},
    {"answer-loss", 0,  "X",       "value that the program reads for losses and norms [0]", .apply = set_loss},
    {"out",        0,   "DIR",     "directory to write runtime_report.json to [memscope-capture]", MS_CLI_TEXT(directory, "a directory")},
    {"time-limit", 0,   "SECONDS", "stop the program if it still runs after this time [600]", MS_CLI_NUMBER(seconds, 1000000)},
    {"trace-calls", 0,  NULL,      "list the program's calls of CUDA libraries", MS_CLI_FLAG(traces_calls)},
    {"trace",      0,   NULL,      "write runtime_trace.jsonl too, for memscope probe", MS_CLI_FLAG(writes_trace)},
    {"no-paths",   0,   NULL,      "name source files without their folders", MS_CLI_FLAG(hides_paths)},
    {"quiet",      'q', NULL,      "print no report on the console", MS_CLI_FLAG(quiet)},
    MS_CLI_COLOR_ROWS,
    MS_CLI_HELP_ROW,
};
/* clang-format on */

static const ms_cli_grammar grammar = {
    .options = options,
    .fields = ms_cli_no_fields,
    .take_word = take_word,
    .notes =
        "\nThe program needs PyTorch built for CUDA, but no GPU. For a program without PyTorch,\n"
        "such as one of llama.cpp's, the allocations themselves are reported. The program reads\n"
        "nothing from the terminal, and its output goes to standard error.\n"
        "vLLM and SGLang are followed until they are ready to serve, and are then stopped.\n"
        "A report contains the program's arguments, with secrets masked, and lines of its files,\n"
        "whose names are relative to the working folder or site-packages. The report of an\n"
        "earlier run is kept until the new one has figures.\n",
};

static int run(const ms_cli_call *call)
{
    ms_cli_settings settings = {0};
    ms_cli_call own = *call;
    own.argc = 0;
    while (own.argc < call->argc && strcmp(call->argv[own.argc], "--") != 0)
        own.argc++;
    if (own.argc < call->argc)
        settings.program = call->argv + own.argc + 1;
    return ms_cli_run(&own, &settings, ms_cli_capture_program);
}

static const char *const examples[] = {
    "memscope capture --device h100-80gb -- python train.py",
    "three steps of your own program, without a GPU",
    "memscope capture --world 8 --rank all -- python train.py",
    "eight ranks, one after the other, and which of them needs the most",
    "memscope capture --trace -- python train.py",
    "also every allocation, which memscope probe --trace runs without Python",
    "memscope capture --device h100-80gb -- vllm serve ./model --max-model-len 8192",
    "whether a model can be served, and how many requests at once",
    NULL,
};

static const char exit_codes[] = "  0   the steps were measured, or an engine was ready to serve\n"
                                 "  1   the program ran out of the device's memory\n"
                                 "  130 interrupted; the figures known by then are written\n";

const ms_cli_command ms_cli_capture = {
    .name = "capture",
    .arguments = "[OPTION...] -- PROGRAM...",
    .help = "Measure the memory of a program's own steps, without a GPU.",
    .examples = examples,
    .grammar = &grammar,
    .outcomes = exit_codes,
    .run = run,
};
