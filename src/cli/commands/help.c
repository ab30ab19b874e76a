/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memscope help: help texts, manual pages and shell completions.
 */
#include <stdio.h>
#include <string.h>

#include "cli/commands/commands.h"
#include "cli/output/message.h"
#include "cli/parse/completion.h"
#include "cli/parse/help.h"

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
static int list_pages(const ms_cli_command *const *commands)
{
    for (; *commands; commands++)
        printf("memscope-%s.1\n", (*commands)->name);
    for (size_t i = 0; i < sizeof file_pages / sizeof file_pages[0]; i++)
        if (has_schema(file_pages[i][1]))
            printf("memscope-%s.5\n", file_pages[i][0]);
    return 0;
}

/* What the manual is built from: "help --man sweep", "help --man report". */
static int print_page(const ms_cli_command *const *commands, const char *name)
{
    ms_error err = {.status = MS_OK};
    const ms_cli_command *command = ms_cli_command_find(commands, name);
    if (command)
        ms_cli_print_page(stdout, command);
    for (size_t i = 0; !command && i < sizeof file_pages / sizeof file_pages[0]; i++)
        if (strcmp(file_pages[i][0], name) == 0)
            return ms_write_schema_page(file_pages[i][1], name, stdout, &err) == MS_OK
                       ? 0
                       : ms_cli_complain(&err);
    return command ? 0 : ms_cli_no_command(commands, name);
}

static int explain(const ms_cli_command *const *commands, const char *name)
{
    const ms_cli_command *command = ms_cli_command_find(commands, name);
    if (!command)
        return ms_cli_no_command(commands, name);
    ms_cli_print_command_help(stdout, command);
    return 0;
}

static int run(const ms_cli_call *call)
{
    char **argv = call->argv;
    if (call->argc > 0 && strcmp(argv[0], "--man") == 0)
        return call->argc > 1 ? print_page(call->commands, argv[1]) : list_pages(call->commands);
    if (call->argc > 1 && strcmp(argv[0], "--completion") == 0)
        return ms_cli_print_completion(stdout, call->commands, call->argc - 1, argv + 1)
                   ? 0
                   : EXIT_USAGE;
    if (call->argc > 0 && !ms_cli_is_help(argv[0]))
        return explain(call->commands, argv[0]);
    ms_cli_print_help(stdout, call->commands);
    return 0;
}

static const char *const examples[] = {
    "memscope help analyze",
    "all options of analyze",
    NULL,
};

const ms_cli_command ms_cli_help = {
    .name = "help",
    .arguments = "[COMMAND]",
    .help = "Explain a command.",
    .examples = examples,
    .run = run,
};
