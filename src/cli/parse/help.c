/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Help texts, generated from the tables.
 */
#include "cli/parse/help.h"

#include <stdlib.h>
#include <string.h>

void ms_cli_print_short_help(FILE *out)
{
    fputs(
        "memscope predicts how much memory a training step needs, from a config.json.\n\n  "
        "memscope analyze --config llama-3.1-8b --seq 4096 --device h100-80gb\n  memscope analyze "
        "--config path/to/config.json --batch 4 --checkpointing all\n\nmemscope models and "
        "memscope devices list what is built in; see also\nmemscope --help.\n",
        out);
}

static void print_examples(FILE *out, const char *const *examples)
{
    fputs("Examples\n", out);
    for (size_t i = 0; examples[i]; i += 2)
        fprintf(out, "  %s\n      %s\n", examples[i], examples[i + 1]);
}

static void print_row(FILE *out, char letter, const ms_run_field *row)
{
    char left[64], dash[8] = "";
    if (letter)
        snprintf(dash, sizeof dash, "-%c, ", letter);
    snprintf(left, sizeof left, "%s--%s %s", dash, row->name,
             row->value_name ? row->value_name : "");
    fprintf(out, "  %-31s  %s", left, row->help);
    if (row->default_text)
        fprintf(out, " [%s]", row->default_text);
    fputc('\n', out);
}

typedef struct grouped {
    FILE *out;
    const char *heading, *group;
    ms_cli_row_printer print;
} grouped;

static void print_in_group(void *context, char letter, const ms_run_field *row)
{
    grouped *g = context;
    if (strcmp(g->group, row->group) != 0)
        fprintf(g->out, "%s%s\n", g->heading, row->group);
    g->group = row->group;
    g->print(g->out, letter, row);
}

void ms_cli_print_options(FILE *out, const ms_cli_grammar *grammar, const char *heading,
                          ms_cli_row_printer print)
{
    grouped g = {out, heading, "", print};
    ms_cli_visit_options(grammar, print_in_group, &g);
}

/* In addition to the command's own lines. */
static const struct {
    int code;
    const char *line;
} shared_outcomes[] = {
    {EXIT_USAGE, "  2   bad usage or input, or a file that cannot be read or written\n"},
    {EXIT_INTERNAL, "  70  internal fault, out of memory\n"},
};

/* Of all commands together, for the help that names none. */
static const char other_outcomes[] =
    "  3   plan, check: no plan was found that fits the budget\n"
    "  130 plan, capture: interrupted; what was found is written\n";

/* Prints the lines of codes below one; returns where the others begin. */
static const char *print_outcomes_below(FILE *out, const char *lines, int code)
{
    while (*lines && atoi(lines) < code) {
        size_t length = strcspn(lines, "\n") + 1;
        fwrite(lines, 1, length, out);
        lines += length;
    }
    return lines;
}

static void print_exit_codes(FILE *out, const char *outcomes, bool is_all)
{
    const char *others = is_all ? other_outcomes : "";
    fputs("\nExit status\n", out);
    for (size_t i = 0; i < sizeof shared_outcomes / sizeof shared_outcomes[0]; i++) {
        outcomes = print_outcomes_below(out, outcomes, shared_outcomes[i].code);
        others = print_outcomes_below(out, others, shared_outcomes[i].code);
        fputs(shared_outcomes[i].line, out);
    }
    fputs(outcomes, out);
    fputs(others, out);
}

static void print_commands(FILE *out, const ms_cli_command *const *commands)
{
    fputs("\nCommands\n", out);
    for (; *commands; commands++)
        fprintf(out, "  %-10s %s\n", (*commands)->name, (*commands)->help);
    fputs("\nmemscope help COMMAND explains a command. memscope works offline and sends no data.\n",
          out);
}

void ms_cli_print_help(FILE *out, const ms_cli_command *const *commands)
{
    print_examples(out, commands[0]->examples);
    fputs("\nUsage: memscope COMMAND [OPTION...]\n", out);
    print_commands(out, commands);
    print_exit_codes(out, commands[0]->outcomes, true);
}

void ms_cli_print_command_help(FILE *out, const ms_cli_command *command)
{
    print_examples(out, command->examples);
    fprintf(out, "\nUsage: memscope %s%s%s\n\n%s\n", command->name, *command->arguments ? " " : "",
            command->arguments, command->help);
    if (command->grammar) {
        ms_cli_print_options(out, command->grammar, "\n", print_row);
        if (command->grammar->notes)
            fputs(command->grammar->notes, out);
    }
    if (command->outcomes)
        print_exit_codes(out, command->outcomes, false);
}
