/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/parse/grammar.h"

#include <string.h>

#include "cli/output/message.h"
#include "cli/parse/formats.h"
#include "memscope/verdict.h"

/* ---- command ---- */

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

/* ---- grammar ---- */

static bool is_left_out(const ms_cli_fields *fields, const char *name)
{
    for (const char *const *out = fields->without; out && *out; out++)
        if (strcmp(*out, name) == 0)
            return true;
    return false;
}

static bool choice_at(const ms_cli_grammar *grammar, size_t index, ms_cli_choice *found)
{
    for (const ms_cli_option *o = grammar->options; o->name; o++)
        if (index-- == 0) {
            *found = (ms_cli_choice){.name = o->name, .value_name = o->value_name, .option = o};
            return true;
        }
    for (const ms_cli_fields *f = grammar->fields; f->list; f++) {
        size_t count;
        const ms_run_field *rows = f->list(&count);
        for (size_t i = 0; i < count; i++) {
            if (is_left_out(f, rows[i].name) || index-- > 0)
                continue;
            *found = (ms_cli_choice){.name = rows[i].name,
                                     .value_name = rows[i].value_name,
                                     .field = &rows[i],
                                     .fields = f};
            return true;
        }
    }
    return false;
}

const char *ms_cli_choice_name(const void *grammar, size_t index)
{
    ms_cli_choice found;
    return choice_at(grammar, index, &found) ? found.name : NULL;
}

bool ms_cli_find_option(const ms_cli_grammar *grammar, const char *name, size_t length,
                        ms_cli_choice *found)
{
    for (size_t i = 0; choice_at(grammar, i, found); i++)
        if (strlen(found->name) == length && memcmp(found->name, name, length) == 0)
            return true;
    return false;
}

bool ms_cli_find_letter(const ms_cli_grammar *grammar, char letter, ms_cli_choice *found)
{
    for (size_t i = 0; choice_at(grammar, i, found); i++)
        if (found->option && found->option->letter == letter)
            return true;
    return false;
}

void ms_cli_visit_options(const ms_cli_grammar *grammar, ms_cli_visitor visit, void *context)
{
    for (const ms_cli_fields *list = grammar->fields; list->list; list++) {
        size_t count;
        const ms_run_field *fields = list->list(&count);
        for (size_t i = 0; i < count; i++) {
            ms_cli_choice first;
            const char *name = fields[i].name;
            if (ms_cli_find_option(grammar, name, strlen(name), &first) &&
                first.field == &fields[i])
                visit(context, 0, &fields[i]);
        }
    }
    for (const ms_cli_option *o = grammar->options; o->name; o++) {
        char formats[MS_CLI_FORMATS_BYTES];
        const ms_run_field row = {.name = o->name,
                                  .value_name = o->value_name,
                                  .help = o->help ? o->help : ms_cli_list_formats(grammar, formats),
                                  .group = "Output"};
        visit(context, o->letter, &row);
    }
}
