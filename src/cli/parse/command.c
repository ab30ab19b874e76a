/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/parse/command.h"

#include <string.h>

#include "cli/output/message.h"

const ms_cli_command *ms_cli_command_find(const ms_cli_command *const *commands, const char *name)
{
    for (; *commands; commands++)
        if (strcmp((*commands)->name, name) == 0)
            return *commands;
    return NULL;
}

int ms_cli_exit_code_of(ms_fit_verdict verdict)
{
    return verdict == MS_VERDICT_UNKNOWN ? EXIT_UNKNOWN
           : verdict == MS_VERDICT_NO    ? EXIT_OVER_BUDGET
                                         : EXIT_FITS;
}

bool ms_cli_is_help(const char *word)
{
    return strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0;
}

static const char *command_name(const void *list, size_t index)
{
    const ms_cli_command *const *commands = list;
    return commands[index] ? commands[index]->name : NULL;
}

int ms_cli_no_command(const ms_cli_command *const *commands, const char *name)
{
    ms_error err = {.status = MS_OK};
    char hint[MS_CLI_HINT_BYTES];
    ms_cli_hint(name, command_name, commands, "", hint);
    if (*hint || *name == '-' || !*name)
        ms_cli_fail(&err, MS_ERR_USAGE, "no command \"%.40s\"%s (memscope help lists them)", name,
                    hint);
    else if (!ms_model_suggest(name, &err))
        ms_cli_fail(&err, MS_ERR_USAGE,
                    "no command or model \"%.40s\" (memscope help lists commands, memscope models "
                    "models)",
                    name);
    return ms_cli_complain(&err);
}
