/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Help texts, printed from the tables.
 */
#include <string.h>

#include "cli/cli.h"

void ms_cli_print_short_help(FILE *out)
{
    fputs(
        "memscope tells how much memory a training step needs, from a model's config.json.\n\n"
        "  memscope analyze --config llama-3.1-8b --seq 4096 --device h100-80gb\n"
        "  memscope analyze --config path/to/config.json --batch 4 --checkpointing all\n\n"
        "memscope models and memscope devices list what is built in; memscope --help says more.\n",
        out);
}

static void print_examples(FILE *out, const char *const *examples)
{
    fputs("Examples\n", out);
    for (size_t i = 0; examples[i]; i += 2)
        fprintf(out, "  %s\n      %s\n", examples[i], examples[i + 1]);
}

static void print_run_fields(FILE *out)
{
    size_t count;
    const ms_run_field *fields = ms_run_fields(&count);
    const char *group = "";
    for (size_t i = 0; i < count; i++) {
        char left[64];
        if (strcmp(group, fields[i].group) != 0)
            fprintf(out, "\n%s\n", fields[i].group);
        group = fields[i].group;
        snprintf(left, sizeof left, "--%s %s", fields[i].name, fields[i].value_name);
        fprintf(out, "  %-32s %s", left, fields[i].help);
        if (fields[i].default_text)
            fprintf(out, " [%s]", fields[i].default_text);
        fputc('\n', out);
    }
}

static void print_plan_fields(FILE *out)
{
    const ms_run_field *field;
    const char *group = "";
    for (size_t i = 0; (field = ms_cli_plan_field_at(i)) != NULL; i++) {
        char left[64];
        if (strcmp(group, field->group) != 0)
            fprintf(out, "\n%s\n", field->group);
        group = field->group;
        snprintf(left, sizeof left, "--%s %s", field->name,
                 field->value_name ? field->value_name : "");
        fprintf(out, "  %-32s %s", left, field->help);
        if (field->default_text)
            fprintf(out, " [%s]", field->default_text);
        fputc('\n', out);
    }
    fputs("\nExit status\n"
          "  0   the plan fits the budget\n"
          "  2   bad usage or input, or a file that cannot be read or written\n"
          "  3   no plan fits the budget\n"
          "  70  internal fault, out of memory\n"
          "  130 plan: interrupted (Ctrl-C); the best plan found by then is written\n",
          out);
}

static void print_options(FILE *out)
{
    const ms_cli_option *option;
    fputs("\nOutput\n", out);
    for (size_t i = 0; (option = ms_cli_option_at(i)) != NULL; i++) {
        char left[64], letter[8] = "";
        if (option->letter)
            snprintf(letter, sizeof letter, "-%c, ", option->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, option->name,
                 option->value_name ? " " : "", option->value_name ? option->value_name : "");
        fprintf(out, "  %-32s %s\n", left, option->help);
    }
    fputs(
        "\nSizes carry a unit: B, KiB, MiB, GiB, TiB are powers of 1024; kB, MB, GB, TB of 1000.\n"
        "The configuration may also be given without --config; - reads standard input.\n"
        "Without --format, -o, --output and --events the console report goes to standard output\n"
        "and static_report.json and static_report.md to reports/.\n",
        out);
}

static void print_exit_codes(FILE *out)
{
    fputs("\nExit status\n"
          "  0   the step fits the budget (--budget, else what the device has)\n"
          "  1   it does not\n"
          "  2   bad usage or input, or a file that cannot be read or written\n"
          "  3   no plan fits the budget\n"
          "  70  internal fault, out of memory\n"
          "  130 plan: interrupted (Ctrl-C); the best plan found by then is written\n",
          out);
}

static void print_commands(FILE *out)
{
    const ms_cli_command *command;
    fputs("\nCommands\n", out);
    for (size_t i = 0; (command = ms_cli_command_at(i)) != NULL; i++)
        fprintf(out, "  %-10s %s\n", command->name, command->help);
    fputs("\nmemscope help COMMAND says more. It works offline and sends nothing anywhere.\n", out);
}

void ms_cli_print_help(FILE *out, const ms_cli_command *command)
{
    const ms_cli_command *shown = command ? command : ms_cli_command_find("analyze");
    print_examples(out, shown->examples);
    if (!command) {
        fputs("\nUsage: memscope COMMAND [OPTION...]\n", out);
        print_commands(out);
    } else {
        fprintf(out, "\nUsage: memscope %s%s%s\n\n%s\n", shown->name, *shown->arguments ? " " : "",
                shown->arguments, shown->help);
    }
    if (command && command->run == ms_cli_analyze) {
        print_run_fields(out);
        print_options(out);
    }
    if (command && command->run == ms_cli_plan)
        print_plan_fields(out);
    if (!command || command->run == ms_cli_analyze)
        print_exit_codes(out);
}
