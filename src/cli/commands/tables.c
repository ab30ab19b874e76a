/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memscope models, devices and schema: built-in tables and schemas.
 */
#include <errno.h>
#include <string.h>

#include "cli/commands/commands.h"
#include "cli/output/message.h"
#include "cli/output/terminal.h"
#include "cli/parse/help.h"
#include "cli/parse/run.h"

/* A table, of all or of those with a part of a name. */
static int print_all_or_named(const ms_cli_call *call,
                              ms_status (*write)(const char *part, FILE *out, ms_error *err))
{
    ms_error err = {.status = MS_OK};
    if (call->argc > 0 && ms_cli_is_help(call->argv[0])) {
        ms_cli_print_command_help(stdout, call->command);
        return 0;
    }
    if (call->argc != 1 || call->argv[0][0] != '-')
        return ms_cli_print_named(call, "a part of a name", write);
    ms_cli_fail(&err, MS_ERR_USAGE, "%s takes a part of a name; unexpected argument %.80s",
                call->command->name, call->argv[0]);
    return ms_cli_complain(&err);
}

/* Whole where nothing says how much room there is: programs read it. */
static ms_status write_models(const char *part, FILE *out, ms_error *err)
{
    return ms_write_models(part, ms_cli_columns(), out, err);
}

static ms_status write_devices(const char *part, FILE *out, ms_error *err)
{
    return ms_write_devices(part, ms_cli_columns(), out, err);
}

static int run_models(const ms_cli_call *call)
{
    return print_all_or_named(call, write_models);
}

static const char *const models_examples[] = {
    "memscope models",
    "names for --config",
    "memscope models qwen3",
    "those whose names contain that",
    "memscope models gemma2",
    "the same, and what is predicted for that family, or why not",
    "memscope models ./config.json",
    "the same for your own model",
    NULL,
};

const ms_cli_command ms_cli_models = {
    .name = "models",
    .arguments = "[NAME]",
    .help = "List the built-in models, or those whose names contain NAME; for one, also what is "
            "predicted.",
    .examples = models_examples,
    .run = run_models,
};

static int run_devices(const ms_cli_call *call)
{
    return print_all_or_named(call, write_devices);
}

static const char *const devices_examples[] = {
    "memscope devices",
    "names for --device, with capacity and speed",
    "memscope devices h100",
    "those whose names contain that",
    NULL,
};

const ms_cli_command ms_cli_devices = {
    .name = "devices",
    .arguments = "[NAME]",
    .help = "List the built-in devices, or those whose names contain NAME.",
    .examples = devices_examples,
    .run = run_devices,
};

static ms_status list_schemas(FILE *out, ms_error *err)
{
    const char *name;
    for (size_t i = 0; (name = ms_schema_name(i)) != NULL; i++)
        fprintf(out, "%s\n", name);
    return fflush(out) == 0 ? MS_OK
                            : ms_cli_fail(err, MS_ERR_IO, "cannot write: %s", strerror(errno));
}

static int run_schema(const ms_cli_call *call)
{
    if (call->argc == 0 || ms_cli_is_help(call->argv[0]))
        return ms_cli_print_table(call, list_schemas);
    return ms_cli_print_named(call, "one name", ms_write_schema);
}

static const char *const schema_examples[] = {
    "memscope schema run",
    "the schema of run files",
    "memscope schema static_report > static_report.schema.json",
    "the schema of the report that analyze writes",
    NULL,
};

const ms_cli_command ms_cli_schema = {
    .name = "schema",
    .arguments = "[NAME]",
    .help = "Print a JSON Schema, or without a name list the schemas.",
    .examples = schema_examples,
    .run = run_schema,
};
