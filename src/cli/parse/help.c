/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Help texts, generated from the tables.
 */
#include "cli/parse/help.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- help ---- */

/* Prints a row for each option of a command, without hidden ones; `heading` precedes the name of a
 * group. Letter 0: none. */
typedef void (*ms_cli_row_printer)(FILE *out, char letter, const ms_run_field *row);

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

static void cli_print_options(FILE *out, const ms_cli_grammar *grammar, const char *heading,
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
        cli_print_options(out, command->grammar, "\n", print_row);
        if (command->grammar->notes)
            fputs(command->grammar->notes, out);
    }
    if (command->outcomes)
        print_exit_codes(out, command->outcomes, false);
}

/* ---- man ---- */

/* Text as roff takes it: no line may begin with a dot. */
static void put(FILE *out, const char *text)
{
    bool begins = true;
    for (; *text; text++) {
        if (begins && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        if (*text == '-')
            fputs("\\-", out);
        else if (*text == '\\')
            fputs("\\e", out);
        else
            fputc(*text, out);
        begins = *text == '\n';
    }
}

static void put_upper(FILE *out, const char *text)
{
    for (; *text; text++)
        fputc(toupper((unsigned char)*text), out);
}

static void put_title(FILE *out, const ms_cli_command *command)
{
    fputs(".\\\" Made by memscope help --man; do not edit.\n.TH MEMSCOPE\\-", out);
    put_upper(out, command->name);
    fprintf(out, " 1 \"\" \"memscope %s\" \"User Commands\"\n.SH NAME\nmemscope\\-%s \\- ",
            MS_VERSION, command->name);
    fputc(tolower((unsigned char)command->help[0]), out);
    size_t length = strlen(command->help) - 1;
    for (size_t i = 1; i < length || (i == length && command->help[i] != '.'); i++)
        fputc(command->help[i], out);
    fprintf(out, "\n.SH SYNOPSIS\n.B memscope %s\n", command->name);
    if (*command->arguments) {
        put(out, command->arguments);
        fputc('\n', out);
    }
}

static void put_examples(FILE *out, const char *const *examples)
{
    fputs(".SH EXAMPLES\n", out);
    for (size_t i = 0; examples[i]; i += 2) {
        fputs(".TP\n.B ", out);
        put(out, examples[i]);
        fputc('\n', out);
        put(out, examples[i + 1]);
        fputs(".\n", out);
    }
}

static void put_option(FILE *out, char letter, const ms_run_field *row)
{
    fputs(".TP\n", out);
    if (letter)
        fprintf(out, "\\fB\\-%c\\fR, ", letter);
    fputs("\\fB\\-\\-", out);
    put(out, row->name);
    fputs("\\fR", out);
    if (row->value_name) {
        fputs(" \\fI", out);
        put(out, row->value_name);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    put(out, row->help);
    if (row->default_text) {
        fputs(" [", out);
        put(out, row->default_text);
        fputc(']', out);
    }
    fputc('\n', out);
}

static void put_options(FILE *out, const ms_cli_grammar *grammar)
{
    fputs(".SH OPTIONS\nIn any order, as \\fB\\-\\-name\\fR \\fIvalue\\fR or "
          "\\fB\\-\\-name=\\fIvalue\\fR.\n",
          out);
    cli_print_options(out, grammar, ".SS ", put_option);
    if (grammar->notes) {
        fputs(".SH NOTES\n", out);
        put(out, grammar->notes + strspn(grammar->notes, "\n"));
    }
}

/* Lines such as "  0   the step fits". */
static void put_exit_codes(FILE *out, const char *lines)
{
    while (*lines) {
        lines += strspn(lines, " ");
        size_t code = strcspn(lines, " \n");
        size_t gap = strspn(lines + code, " "), text = strcspn(lines + code + gap, "\n");
        fprintf(out, ".TP\n.B %.*s\n%.*s\n", (int)code, lines, (int)text, lines + code + gap);
        lines += code + gap + text;
        lines += *lines == '\n';
    }
}

void ms_cli_print_page(FILE *out, const ms_cli_command *command)
{
    put_title(out, command);
    fputs(".SH DESCRIPTION\n", out);
    put(out, command->help);
    fputs("\n.PP\nSee\n.BR memscope (1)\nfor more, such as the exit statuses that all commands "
          "share.\n",
          out);
    put_examples(out, command->examples);
    if (command->grammar)
        put_options(out, command->grammar);
    if (command->outcomes) {
        fputs(".SH EXIT STATUS\n", out);
        put_exit_codes(out, command->outcomes);
    }
    fputs(".SH SEE ALSO\n.BR memscope (1),\n.BR memscope\\-report (5)\n", out);
}
