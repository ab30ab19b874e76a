/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const char *const analyze_examples[] = {
    "memscope analyze --config llama-3.1-8b --seq 4096 --device h100-80gb",
    "a built-in model on a built-in device",
    "memscope analyze --config path/to/config.json --batch 4 --checkpointing all",
    "a Hugging Face config.json, or the directory that holds it",
    "memscope analyze --config gpt2 --budget 24GiB --format json -o report.json",
    "one report in a file; exit status 1 when the step does not fit 24 GiB",
    NULL,
};
static const char *const plan_examples[] = {
    "memscope plan --config llama-3.1-8b --seq 4096 --device h100-80gb --budget 70GiB",
    "which layers to checkpoint, offload or tile, at the least cost in time",
    "memscope plan llama-3.1-8b --seq 4096 --budget 70GiB --target torchtitan -o plan.json",
    "what a trainer can express; memscope analyze --plan plan.json reads it",
    "memscope plan llama-3.1-8b --seq 4096 --curve -o curve.svg",
    "time against budget, as a picture",
    "memscope plan --graph modules.json --budget 40GiB --world-size 8",
    "which modules to checkpoint, with the least recomputation",
    "memscope plan --ops operators.json --memory-budget 0.5 --format json -o -",
    "which operators of a module to save",
    NULL,
};
static const char *const fit_examples[] = {
    "memscope fit llama-3.1-8b --checkpointing all --device h100-80gb",
    "the largest batch that fits, the largest safe one, and why the next does not",
    "memscope fit llama-3.2-1b --what seq --lora r=16,targets=all-linear --device rtx-4090",
    "the longest sequence",
    NULL,
};
static const char *const diff_examples[] = {
    "memscope diff before.json after.json",
    "two reports: what changed, and how it changed the peak",
    "memscope diff baselines/llama.json path/to/memscope.run.json --format md",
    "a report and the current state of a run file",
    NULL,
};
static const char *const check_examples[] = {
    "memscope check",
    "the budgets of memscope.budgets.json here; exit status 1 when one is exceeded",
    ("memscope check --budgets ci/memscope.budgets.json --output junit=memory.xml --output "
     "sarif=memory.sarif"),
    "with machine-readable reports beside the one for people",
    NULL,
};
static const char *const baseline_examples[] = {
    "memscope baseline --update",
    "write the report that each budget is compared with; commit them",
    "memscope baseline",
    "which of them are out of date",
    NULL,
};
static const char *const sweep_examples[] = {
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
static const char *const merge_examples[] = {
    "memscope merge rows-*.csv -o rows.csv",
    "one file, checked to hold every point exactly once",
    "memscope merge --frontier --objectives expected_device_bytes,tokens_per_s,seq rows.csv",
    "the rows on the Pareto front",
    NULL,
};
static const char *const capture_examples[] = {
    "memscope capture --device h100-80gb -- python train.py",
    "three steps of your own program, without a GPU",
    NULL,
};
static const char *const compare_examples[] = {
    "memscope compare static_report.json memscope-capture/runtime_report.json",
    "prediction and measurement side by side",
    NULL,
};
static const char *const calibrate_examples[] = {
    "memscope calibrate runs/*/runtime_report.json -o calibration.json",
    "workspaces and margin from capture --real reports, each beside its static_report.json",
    "memscope calibrate points.csv -o calibration.json",
    "context, times and links as well, if it has columns for them",
    "memscope analyze llama-3.1-8b --device h100-80gb --calibration calibration.json",
    "a prediction that uses it",
    NULL,
};
static const char *const models_examples[] = {
    "memscope models",
    "names for --config",
    NULL,
};
static const char *const devices_examples[] = {
    "memscope devices",
    "names for --device, with capacity and speed",
    NULL,
};
static const char *const schema_examples[] = {
    "memscope schema run",
    "the schema of run files",
    "memscope schema static_report > static_report.schema.json",
    "the schema of the report that analyze writes",
    NULL,
};
static const char *const help_examples[] = {
    "memscope help analyze",
    "all options of analyze",
    NULL,
};

static const char analyze_outcomes[] =
    "  0   the step fits --budget, else the device, even if only just (tight)\n"
    "  1   it does not fit\n";
static const char plan_outcomes[] =
    "  0   the plan fits the budget, even if only just (tight)\n"
    "  3   no plan was found that fits the budget\n"
    "  130 interrupted (Ctrl-C); the best plan found by then is written\n";
static const char sweep_outcomes[] = "  0   every row has figures\n"
                                     "  1   some rows state why they have none\n";
static const char merge_outcomes[] = "  0   all rows of one sweep are there\n";
static const char fit_outcomes[] = "  0   something fits, even if only just (tight)\n"
                                   "  1   nothing fits\n";
static const char capture_outcomes[] = "  0   the steps were measured\n"
                                       "  1   the program ran out of the device's memory\n"
                                       "  130 interrupted; what is known by then is written\n";
static const char calibrate_outcomes[] = "  0   something was fitted\n";
static const char compare_outcomes[] = "  0   the reports were compared\n";

static const char diff_outcomes[] = "  0   nothing differs\n"
                                    "  1   something differs\n";

static const char check_outcomes[] =
    "  0   all budgets are kept\n"
    "  1   a budget is exceeded\n"
    "  3   a budget is exceeded, and no plan was found that fits\n";
static const char baseline_outcomes[] = "  0   all are current, or were written\n"
                                        "  1   one is missing or not current\n";

/* clang-format off */
static const ms_cli_command commands[] = {
    {"analyze", "[OPTION...] [CONFIG]", "Predict how much memory a training step needs, and what for.", analyze_examples, &ms_cli_analyze_grammar, analyze_outcomes, ms_cli_analyze},
    {"plan",    "[OPTION...] [CONFIG]", "Plan how to treat layers so that a step fits a budget.",    plan_examples,    &ms_cli_plan_grammar,    plan_outcomes,    ms_cli_plan},
    {"fit",     "[OPTION...] [CONFIG]", "Find the largest batch, sequence, rank or depth that fits.", fit_examples,     &ms_cli_fit_grammar,     fit_outcomes,     ms_cli_fit},
    {"diff",    "[OPTION...] A B",      "Show how two runs differ, and how that changes the peak.", diff_examples,   &ms_cli_diff_grammar,    diff_outcomes,    ms_cli_diff},
    {"check",   "[OPTION...]",          "Check that runs stay within the budgets of a file.",             check_examples,   &ms_cli_check_grammar,   check_outcomes,   ms_cli_check},
    {"baseline", "[OPTION...]",         "Write or check the baselines that budgets are compared with.",     baseline_examples, &ms_cli_baseline_grammar, baseline_outcomes, ms_cli_baseline},
    {"sweep",   "[OPTION...] [CONFIG]", "Predict many runs, from a grid or a table, one row each.", sweep_examples, &ms_cli_sweep_grammar, sweep_outcomes,  ms_cli_sweep},
    {"merge",   "[OPTION...] FILE...",  "Join the shards of a sweep, or keep only its Pareto front.", merge_examples,   &ms_cli_merge_grammar,   merge_outcomes,   ms_cli_merge},
    {"capture", "[OPTION...] -- PROGRAM...", "Measure the memory of a program's own steps, without a GPU.", capture_examples, &ms_cli_capture_grammar, capture_outcomes, ms_cli_capture},
    {"compare", "[OPTION...] FIRST SECOND", "Compare two reports side by side.",                      compare_examples, &ms_cli_compare_grammar, compare_outcomes, ms_cli_compare},
    {"calibrate", "[OPTION...] REPORT...", "Calibrate a device from measured steps.",              calibrate_examples, &ms_cli_calibrate_grammar, calibrate_outcomes, ms_cli_calibrate},
    {"models",  "",                     "List the built-in models.",                            models_examples,  NULL,                    NULL,             ms_cli_models},
    {"devices", "",                     "List the built-in devices.",                           devices_examples, NULL,                    NULL,             ms_cli_devices},
    {"schema",  "[NAME]",               "Print a JSON Schema; without a name, list them.",      schema_examples,  NULL,                    NULL,             ms_cli_schema},
    {"help",    "[COMMAND]",            "Explain a command.",                                   help_examples,    NULL,                    NULL,             ms_cli_help},
};
/* clang-format on */
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

const ms_cli_command *ms_cli_command_at(size_t index)
{
    return index < COMMAND_COUNT ? &commands[index] : NULL;
}

const ms_cli_command *ms_cli_command_find(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static const char *command_name(const void *list, size_t index)
{
    (void)list;
    return index < COMMAND_COUNT ? commands[index].name : NULL;
}

static bool is_help(const char *word)
{
    return strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0;
}

static int no_command(const char *name)
{
    ms_error err = {.status = MS_OK};
    char hint[MS_CLI_HINT_BYTES];
    ms_cli_fail(&err, MS_ERR_USAGE, "no command \"%.40s\"%s (memscope help lists them)", name,
                ms_cli_hint(name, command_name, commands, "", hint));
    return ms_cli_complain(&err);
}

/* The commands that print a table take no arguments. */
static int print_table(const char *name, int argc, char **argv,
                       ms_status (*write)(FILE *out, ms_error *err))
{
    ms_error err = {.status = MS_OK};
    if (argc > 0 && is_help(argv[0])) {
        ms_cli_print_help(stdout, ms_cli_command_find(name));
        return 0;
    }
    if (argc > 0) {
        ms_cli_fail(&err, MS_ERR_USAGE, "%s takes no arguments; unexpected argument %.80s", name,
                    argv[0]);
    } else if (write(stdout, &err) == MS_ERR_IO && errno == EPIPE) {
        clearerr(stdout);
        return 0;
    }
    return err.status == MS_OK ? 0 : ms_cli_complain(&err);
}

int ms_cli_models(int argc, char **argv)
{
    return print_table("models", argc, argv, ms_write_models);
}

int ms_cli_devices(int argc, char **argv)
{
    return print_table("devices", argc, argv, ms_write_devices);
}

static ms_status list_schemas(FILE *out, ms_error *err)
{
    const char *name;
    for (size_t i = 0; (name = ms_schema_name(i)) != NULL; i++)
        fprintf(out, "%s\n", name);
    return fflush(out) == 0 ? MS_OK
                            : ms_cli_fail(err, MS_ERR_IO, "cannot write: %s", strerror(errno));
}

int ms_cli_schema(int argc, char **argv)
{
    ms_error err = {.status = MS_OK};
    if (argc == 0 || is_help(argv[0]))
        return print_table("schema", argc, argv, list_schemas);
    if (argc > 1)
        ms_cli_fail(&err, MS_ERR_USAGE, "schema takes one name; unexpected argument %.80s",
                    argv[1]);
    else if (ms_write_schema(argv[0], stdout, &err) == MS_ERR_IO && errno == EPIPE) {
        clearerr(stdout);
        return 0;
    }
    return err.status == MS_OK ? 0 : ms_cli_complain(&err);
}

/* Pages of section 5, and the schemas they describe. */
static const char *const file_pages[][2] = {
    {"report", "static_report"}, {"run", "run"}, {"budgets", "budgets"}};

static bool has_schema(const char *name)
{
    const char *known;
    for (size_t i = 0; (known = ms_schema_name(i)) != NULL; i++)
        if (strcmp(known, name) == 0)
            return true;
    return false;
}

/* The files of the manual that print_page can make. */
static int list_pages(void)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        printf("memscope-%s.1\n", commands[i].name);
    for (size_t i = 0; i < sizeof file_pages / sizeof file_pages[0]; i++)
        if (has_schema(file_pages[i][1]))
            printf("memscope-%s.5\n", file_pages[i][0]);
    return 0;
}

/* What the manual is built from: "help --man sweep", "help --man report". */
static int print_page(const char *name)
{
    ms_error err = {.status = MS_OK};
    const ms_cli_command *command = ms_cli_command_find(name);
    if (command)
        ms_cli_print_page(stdout, command);
    for (size_t i = 0; !command && i < sizeof file_pages / sizeof file_pages[0]; i++)
        if (strcmp(file_pages[i][0], name) == 0)
            return ms_write_schema_page(file_pages[i][1], name, stdout, &err) == MS_OK
                       ? 0
                       : ms_cli_complain(&err);
    return command ? 0 : no_command(name);
}

int ms_cli_help(int argc, char **argv)
{
    if (argc > 0 && strcmp(argv[0], "--man") == 0)
        return argc > 1 ? print_page(argv[1]) : list_pages();
    if (argc > 1 && strcmp(argv[0], "--completion") == 0)
        return ms_cli_print_completion(stdout, argc - 1, argv + 1) ? 0 : EXIT_USAGE;
    const ms_cli_command *command =
        argc > 0 && !is_help(argv[0]) ? ms_cli_command_find(argv[0]) : NULL;
    if (argc > 0 && !command && !is_help(argv[0]))
        return no_command(argv[0]);
    ms_cli_print_help(stdout, command);
    return 0;
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        ms_cli_print_short_help(stdout);
        return 0;
    }
    if (is_help(argv[1])) {
        ms_cli_print_help(stdout, NULL);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0)
        return print_table(argv[1], 0, NULL, ms_write_version);
    const ms_cli_command *command = ms_cli_command_find(argv[1]);
    return command ? command->run(argc - 2, argv + 2) : no_command(argv[1]);
}

/* A full disk is an error; a reader that went away is not. */
static int close_stdout(int code)
{
    bool failed = ferror(stdout);
    if (fclose(stdout) != 0)
        failed = errno != EPIPE;
    if (!failed || code != 0)
        return code;
    ms_error err = {.status = MS_OK};
    ms_cli_fail(&err, MS_ERR_IO, "cannot write to standard output: %s", strerror(errno));
    return ms_cli_complain(&err);
}

enum { STDOUT_BYTES = 64 * 1024 };

int main(int argc, char **argv)
{
    /* Holds any text for people, so that errors show when it is closed. */
    static char buffer[STDOUT_BYTES];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* writing fails with a message, and nothing is left behind */
    ms_cli_keep_memory();
    return close_stdout(run(argc, argv));
}
