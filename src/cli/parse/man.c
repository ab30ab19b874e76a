/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Manual pages of the commands, from the same tables as the help texts.
 */
#include "cli/parse/man.h"

#include <ctype.h>
#include <string.h>

#include "cli/parse/help.h"

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
    ms_cli_print_options(out, grammar, ".SS ", put_option);
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
