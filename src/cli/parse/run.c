/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One parser for all commands, driven by the command's grammar.
 */
#include "cli/parse/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output/guard.h"
#include "cli/output/message.h"
#include "cli/parse/help.h"

/* One argument taken apart. */
typedef struct word {
    ms_cli_choice choice;
    const char *value; /* what follows "=" or the letter; NULL when there is nothing */
    char text[48];     /* the name as it was typed */
} word;

/* Options of no run have no reasons for what a run lacks. */
static bool has_reasons(const ms_cli_grammar *grammar)
{
    const ms_cli_fields *f = grammar->fields;
    for (; f->list; f++)
        if (f->list == ms_run_fields)
            return true;
    return f == grammar->fields;
}

static ms_status read_word(const ms_cli_grammar *grammar, const char *argument, word *w,
                           ms_error *err)
{
    char hint[MS_CLI_HINT_BYTES];
    if (argument[1] != '-') {
        snprintf(w->text, sizeof w->text, "-%c", argument[1]);
        w->value = argument[2] ? argument + 2 : NULL;
        return ms_cli_find_letter(grammar, argument[1], &w->choice)
                   ? MS_OK
                   : ms_cli_fail(err, MS_ERR_USAGE, "no option %s", w->text);
    }
    const char *name = argument + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    snprintf(w->text, sizeof w->text, "--%.*s", (int)(length < 40 ? length : 40), name);
    w->value = equals ? equals + 1 : NULL;
    if (ms_cli_find_option(grammar, name, length, &w->choice))
        return MS_OK;
    const char *why = has_reasons(grammar) ? ms_run_field_missing(w->text + 2) : NULL;
    if (why)
        return ms_cli_fail(err, MS_ERR_USAGE, "no option %s: %s", w->text, why);
    return ms_cli_fail(err, MS_ERR_USAGE, "no option %s%s", w->text,
                       ms_cli_hint(w->text + 2, ms_cli_choice_name, grammar, "--", hint));
}

/* Applies one option; `next` is the argument after it, `used_next` says whether it was the value.
 */
static ms_status apply(const char *argument, const char *next, ms_cli_settings *s, bool *used_next,
                       ms_error *err)
{
    word w;
    ms_status status = read_word(s->grammar, argument, &w, err);
    if (status != MS_OK)
        return status;
    bool takes_value = w.choice.value_name;
    if (!takes_value && w.value)
        return ms_cli_fail(err, MS_ERR_USAGE, "%s takes no value", w.text);
    *used_next = takes_value && !w.value;
    const char *value = *used_next ? next : w.value;
    if (takes_value && !value)
        return ms_cli_fail(err, MS_ERR_USAGE, "%s needs a value", w.text);
    if (w.choice.option)
        return w.choice.option->apply(s, value, err);
    return w.choice.fields->set(s, w.choice.name, takes_value ? value : "true", err);
}

static ms_status parse(const ms_cli_call *call, ms_cli_settings *settings, ms_error *err)
{
    bool options_end = false;
    const ms_cli_grammar *grammar = call->command->grammar;
    settings->grammar = grammar;
    for (int i = 0; i < call->argc; i++) {
        const char *argument = call->argv[i];
        bool used_next = false;
        ms_status status = MS_OK;
        if (!options_end && strcmp(argument, "--") == 0)
            options_end = true;
        else if (!options_end && argument[0] == '-' && argument[1] != '\0')
            status = apply(argument, i + 1 < call->argc ? call->argv[i + 1] : NULL, settings,
                           &used_next, err);
        else
            status = grammar->take_word(settings, argument, err);
        if (status != MS_OK)
            return status;
        i += used_next;
    }
    return MS_OK;
}

/* Whatever the command reads is listed, so that nothing is written over it. */
static int work_guarded(const ms_cli_settings *settings, ms_cli_work work, ms_error *err)
{
    ms_inputs *inputs = ms_cli_guard_begin();
    if (!inputs)
        return ms_cli_no_memory();
    ms_run_set_inputs(settings->run, inputs); /* those that the command has */
    ms_plan_set_inputs(settings->plan, inputs);
    ms_sweep_set_inputs(settings->sweep, inputs);
    int code = work(settings, err);
    ms_cli_guard_end();
    return code;
}

int ms_cli_run(const ms_cli_call *call, ms_cli_settings *settings, ms_cli_work work)
{
    ms_error err = {.status = MS_OK};
    ms_status status = parse(call, settings, &err);
    if (settings->help) {
        ms_cli_print_command_help(stdout, call->command);
        return 0;
    }
    if (status == MS_OK)
        return work_guarded(settings, work, &err);
    int code = ms_cli_complain(&err);
    if (status == MS_ERR_USAGE)
        fprintf(stderr, "Try: memscope help %s\n", call->command->name);
    return code;
}

int ms_cli_run_with_run(const ms_cli_call *call, ms_cli_work work)
{
    ms_cli_settings settings = {.run = ms_run_create()};
    if (!settings.run)
        return ms_cli_no_memory();
    int code = ms_cli_run(call, &settings, work);
    ms_run_free(settings.run);
    return code;
}

int ms_cli_run_with_paths(const ms_cli_call *call, ms_cli_work work)
{
    ms_cli_settings settings = {.paths = calloc((size_t)call->argc + 1, sizeof *settings.paths)};
    if (!settings.paths)
        return ms_cli_no_memory();
    int code = ms_cli_run(call, &settings, work);
    free(settings.paths);
    return code;
}

int ms_cli_print_table(const ms_cli_call *call, ms_status (*write)(FILE *out, ms_error *err))
{
    ms_error err = {.status = MS_OK};
    if (call->argc > 0 && ms_cli_is_help(call->argv[0])) {
        ms_cli_print_command_help(stdout, call->command);
        return 0;
    }
    if (call->argc > 0) {
        ms_cli_fail(&err, MS_ERR_USAGE, "%s takes no arguments; unexpected argument %.80s",
                    call->command->name, call->argv[0]);
    } else if (write(stdout, &err) == MS_ERR_IO && errno == EPIPE) {
        clearerr(stdout);
        return 0;
    }
    return err.status == MS_OK ? 0 : ms_cli_complain(&err);
}
