/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The command line: a client of the public headers. Results go to standard output, messages to
 * standard error; a command returns the exit code.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/commands/commands.h"
#include "cli/output/memory.h"
#include "cli/output/message.h"
#include "cli/parse/help.h"
#include "cli/parse/run.h"

static int run(int argc, char **argv)
{
    if (argc < 2) {
        ms_cli_print_short_help(stdout);
        return 0;
    }
    if (ms_cli_is_help(argv[1])) {
        ms_cli_print_help(stdout, ms_cli_commands);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
        return ms_cli_print_table(&(ms_cli_call){.argc = 0}, ms_write_version);
    const ms_cli_command *command = ms_cli_command_find(ms_cli_commands, argv[1]);
    if (command)
        return command->run(&(ms_cli_call){ms_cli_commands, command, argc - 2, argv + 2});
    /* A model, its id, its address, or what may be one, as no command has such signs; what is wrong
     * with it analyze says best. */
    if (!ms_model_is_named(argv[1]) && (argv[1][0] == '-' || !strpbrk(argv[1], "-/:0123456789")))
        return ms_cli_no_command(ms_cli_commands, argv[1]);
    const ms_cli_call call = {ms_cli_commands, &ms_cli_analyze, argc - 1, argv + 1};
    return call.command->run(&call);
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
