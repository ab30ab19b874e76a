/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One parser for all commands: what a command accepts is its grammar.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/output/guard.h"

/* ---- formats ---- */

static const char *format_name(const void *grammar, size_t index)
{
    return ((const ms_cli_grammar *)grammar)->format_at(index);
}

/* "console, json or md" */
static void list_formats(const ms_cli_grammar *grammar, char *out, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; grammar->format_at(i) && used < size; i++) {
        const char *before = i == 0 ? "" : grammar->format_at(i + 1) ? ", " : " or ";
        used += (size_t)snprintf(out + used, size - used, "%s%s", before, grammar->format_at(i));
    }
}

ms_status ms_cli_check_format(const ms_cli_grammar *grammar, const char *name, ms_error *err)
{
    char hint[MS_CLI_HINT_BYTES], known[160];
    for (size_t i = 0; grammar->format_at(i); i++)
        if (strcmp(name, grammar->format_at(i)) == 0)
            return MS_OK;
    list_formats(grammar, known, sizeof known);
    return ms_cli_fail(err, MS_ERR_USAGE, "no format \"%.40s\"%s (%s)", name,
                       ms_cli_hint(name, format_name, grammar, "", hint), known);
}

const char *ms_cli_format(const ms_cli_settings *s)
{
    const char *dot = s->file ? strrchr(s->file, '.') : NULL;
    if (s->format)
        return s->format;
    for (size_t i = 0; dot && s->grammar->format_at(i); i++)
        if (strcmp(dot + 1, s->grammar->format_at(i)) == 0)
            return s->grammar->format_at(i);
    return s->grammar->format_at(0);
}

/* ---- options of several commands ---- */

ms_status ms_cli_set_format(ms_cli_settings *s, const char *value, ms_error *err)
{
    s->format = value;
    return ms_cli_check_format(s->grammar, value, err);
}

static bool add_format(ms_cli_settings *s, const char *value, size_t length)
{
    const char *name;
    for (size_t i = 0; (name = s->grammar->format_at(i)) != NULL; i++)
        if (strlen(name) == length && memcmp(name, value, length) == 0) {
            s->outputs[s->output_count++] = (ms_cli_output){name, value + length + 1};
            return true;
        }
    return false;
}

ms_status ms_cli_add_output(ms_cli_settings *s, const char *value, ms_error *err)
{
    const char *equals = strchr(value, '=');
    if (!equals || equals[1] == '\0')
        return ms_cli_fail(err, MS_ERR_USAGE,
                           "--output wants FORMAT=FILE, for example --output json=report.json");
    if (s->output_count == MS_CLI_MAX_OUTPUTS)
        return ms_cli_fail(err, MS_ERR_USAGE, "more than %d times --output", MS_CLI_MAX_OUTPUTS);
    if (add_format(s, value, (size_t)(equals - value)))
        return MS_OK;
    char name[41];
    snprintf(name, sizeof name, "%.*s", (int)(equals - value > 40 ? 40 : equals - value), value);
    return ms_cli_check_format(s->grammar, name, err);
}

ms_status ms_cli_set_file(ms_cli_settings *s, const char *value, ms_error *err)
{
    (void)err;
    s->file = value;
    return MS_OK;
}

ms_status ms_cli_set_quiet(ms_cli_settings *s, const char *value, ms_error *err)
{
    (void)value, (void)err;
    s->quiet = true;
    return MS_OK;
}

ms_status ms_cli_set_help(ms_cli_settings *s, const char *value, ms_error *err)
{
    (void)value, (void)err;
    s->help = true;
    return MS_OK;
}

ms_status ms_cli_set_no_color(ms_cli_settings *s, const char *value, ms_error *err)
{
    (void)value, (void)err;
    s->color = MS_COLOR_NEVER;
    return MS_OK;
}

const char *ms_cli_color_name(size_t index)
{
    static const char *const names[] = {
        [MS_COLOR_AUTO] = "auto", [MS_COLOR_ALWAYS] = "always", [MS_COLOR_NEVER] = "never"};
    return index < sizeof names / sizeof names[0] ? names[index] : NULL;
}

ms_status ms_cli_set_color(ms_cli_settings *s, const char *value, ms_error *err)
{
    for (size_t i = 0; ms_cli_color_name(i); i++)
        if (strcmp(value, ms_cli_color_name(i)) == 0) {
            s->color = (ms_cli_color)i;
            return MS_OK;
        }
    return ms_cli_fail(err, MS_ERR_USAGE, "--color wants auto, always or never, not \"%.40s\"",
                       value);
}

ms_status ms_cli_set_budgets(ms_cli_settings *s, const char *value, ms_error *err)
{
    s->config = value;
    return *value ? MS_OK : ms_cli_fail(err, MS_ERR_USAGE, "--budgets wants a file");
}

ms_status ms_cli_set_jobs(ms_cli_settings *s, const char *value, ms_error *err)
{
    char *end = NULL;
    unsigned long jobs = *value >= '0' && *value <= '9' ? strtoul(value, &end, 10) : 0;
    if (jobs == 0 || jobs > MS_CHECK_MOST_THREADS || *end != '\0')
        return ms_cli_fail(err, MS_ERR_USAGE,
                           "--jobs: found '%.40s', expected a whole number from 1 to %d", value,
                           (int)MS_CHECK_MOST_THREADS);
    s->jobs = (uint32_t)jobs;
    return MS_OK;
}

ms_status ms_cli_set_run(ms_cli_settings *s, const char *field, const char *value, ms_error *err)
{
    return ms_run_set(s->run, field, value, err);
}

const ms_cli_fields ms_cli_run_fields[] = {{.list = ms_run_fields, .set = ms_cli_set_run},
                                           {.list = NULL}};

ms_status ms_cli_take_config(ms_cli_settings *s, const char *word, ms_error *err)
{
    if (s->config)
        return ms_cli_fail(err, MS_ERR_USAGE, "two configs: %.80s and %.80s", s->config, word);
    s->config = word;
    return ms_run_set(s->run, "config", word, err);
}

/* ---- parsing ---- */

/* One option of a grammar: one of its own, or a field. */
typedef struct choice {
    const char *name, *value_name;
    const ms_cli_option *option; /* or NULL */
    const ms_run_field *field;   /* or NULL */
    const ms_cli_fields *fields; /* of the field */
} choice;

static bool is_left_out(const ms_cli_fields *fields, const char *name)
{
    for (const char *const *out = fields->without; out && *out; out++)
        if (strcmp(*out, name) == 0)
            return true;
    return false;
}

static bool choice_at(const ms_cli_grammar *grammar, size_t index, choice *found)
{
    for (const ms_cli_option *o = grammar->options; o->name; o++)
        if (index-- == 0) {
            *found = (choice){.name = o->name, .value_name = o->value_name, .option = o};
            return true;
        }
    for (const ms_cli_fields *f = grammar->fields; f->list; f++) {
        size_t count;
        const ms_run_field *rows = f->list(&count);
        for (size_t i = 0; i < count; i++) {
            if (is_left_out(f, rows[i].name) || index-- > 0)
                continue;
            *found = (choice){.name = rows[i].name,
                              .value_name = rows[i].value_name,
                              .field = &rows[i],
                              .fields = f};
            return true;
        }
    }
    return false;
}

static const char *choice_name(const void *grammar, size_t index)
{
    choice found;
    return choice_at(grammar, index, &found) ? found.name : NULL;
}

static bool find_name(const ms_cli_grammar *grammar, const char *name, size_t length, choice *found)
{
    for (size_t i = 0; choice_at(grammar, i, found); i++)
        if (strlen(found->name) == length && memcmp(found->name, name, length) == 0)
            return true;
    return false;
}

static bool find_letter(const ms_cli_grammar *grammar, char letter, choice *found)
{
    for (size_t i = 0; choice_at(grammar, i, found); i++)
        if (found->option && found->option->letter == letter)
            return true;
    return false;
}

const ms_run_field *ms_cli_field_find(const ms_cli_grammar *grammar, const char *name)
{
    choice found;
    return find_name(grammar, name, strlen(name), &found) ? found.field : NULL;
}

/* One argument taken apart. */
typedef struct word {
    choice choice;
    const char *value; /* what follows "=" or the letter; NULL when there is nothing */
    char text[48];     /* the name as it was typed */
} word;

static ms_status read_word(const ms_cli_grammar *grammar, const char *argument, word *w,
                           ms_error *err)
{
    char hint[MS_CLI_HINT_BYTES];
    if (argument[1] != '-') {
        snprintf(w->text, sizeof w->text, "-%c", argument[1]);
        w->value = argument[2] ? argument + 2 : NULL;
        return find_letter(grammar, argument[1], &w->choice)
                   ? MS_OK
                   : ms_cli_fail(err, MS_ERR_USAGE, "no option %s", w->text);
    }
    const char *name = argument + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    snprintf(w->text, sizeof w->text, "--%.*s", (int)(length < 40 ? length : 40), name);
    w->value = equals ? equals + 1 : NULL;
    if (find_name(grammar, name, length, &w->choice))
        return MS_OK;
    const char *why = ms_run_field_missing(w->text + 2);
    if (why)
        return ms_cli_fail(err, MS_ERR_USAGE, "no option %s: %s", w->text, why);
    return ms_cli_fail(err, MS_ERR_USAGE, "no option %s%s", w->text,
                       ms_cli_hint(w->text + 2, choice_name, grammar, "--", hint));
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
        return ms_cli_fail(err, MS_ERR_USAGE, "%s wants a value", w.text);
    if (w.choice.option)
        return w.choice.option->apply(s, value, err);
    return w.choice.fields->set(s, w.choice.name, takes_value ? value : "true", err);
}

ms_status ms_cli_parse(int argc, char **argv, const ms_cli_grammar *grammar,
                       ms_cli_settings *settings, ms_error *err)
{
    bool options_end = false;
    settings->grammar = grammar;
    for (int i = 0; i < argc; i++) {
        const char *argument = argv[i];
        bool used_next = false;
        ms_status status = MS_OK;
        if (!options_end && strcmp(argument, "--") == 0)
            options_end = true;
        else if (!options_end && argument[0] == '-' && argument[1] != '\0')
            status = apply(argument, i + 1 < argc ? argv[i + 1] : NULL, settings, &used_next, err);
        else
            status = grammar->take_word(settings, argument, err);
        if (status != MS_OK)
            return status;
        i += used_next;
    }
    return MS_OK;
}

/* Whatever the command reads is listed, so that nothing is written over it. */
static int run_guarded(const ms_cli_settings *settings,
                       int (*run)(const ms_cli_settings *settings, ms_error *err), ms_error *err)
{
    ms_inputs *inputs = ms_cli_guard_begin();
    if (!inputs)
        return ms_cli_no_memory();
    ms_run_set_inputs(settings->run, inputs); /* those that the command has */
    ms_plan_set_inputs(settings->plan, inputs);
    ms_sweep_set_inputs(settings->sweep, inputs);
    int code = run(settings, err);
    ms_cli_guard_end();
    return code;
}

int ms_cli_run(int argc, char **argv, const char *command, ms_cli_settings *settings,
               int (*run)(const ms_cli_settings *settings, ms_error *err))
{
    ms_error err = {.status = MS_OK};
    const ms_cli_command *row = ms_cli_command_find(command);
    ms_status status = ms_cli_parse(argc, argv, row->grammar, settings, &err);
    if (settings->help) {
        ms_cli_print_help(stdout, row);
        return 0;
    }
    if (status == MS_OK)
        return run_guarded(settings, run, &err);
    int code = ms_cli_complain(&err);
    if (status == MS_ERR_USAGE)
        fprintf(stderr, "Try: memscope help %s\n", command);
    return code;
}
