/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Options are rows: those below, and one for each field of a run.
 */
#include <string.h>

#include "cli/cli.h"

static const char *format_name(size_t index)
{
    const ms_report_format *format = ms_report_format_at(index);
    return format ? format->name : NULL;
}

static ms_status check_format(const char *name, ms_error *err)
{
    for (size_t i = 0; format_name(i); i++)
        if (strcmp(name, format_name(i)) == 0)
            return MS_OK;
    const char *near = ms_cli_nearest(name, format_name);
    return ms_cli_fail(err, MS_ERR_USAGE, "no format \"%.40s\"%s%s%s (console, json, md or csv)",
                       name, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static ms_status set_format(ms_cli_settings *s, const char *value, ms_error *err)
{
    s->format = value;
    return check_format(value, err);
}

static ms_status set_file(ms_cli_settings *s, const char *value, ms_error *err)
{
    (void)err;
    s->file = value;
    return MS_OK;
}

static const char *add_format(ms_cli_settings *s, const char *value, size_t length)
{
    for (size_t i = 0; format_name(i); i++)
        if (strlen(format_name(i)) == length && memcmp(format_name(i), value, length) == 0) {
            s->outputs[s->output_count++] = (ms_cli_output){format_name(i), value + length + 1};
            return format_name(i);
        }
    return NULL;
}

static ms_status add_output(ms_cli_settings *s, const char *value, ms_error *err)
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
    return check_format(name, err);
}

static ms_status set_directory(ms_cli_settings *s, const char *value, ms_error *err)
{
    s->directory = value;
    return *value ? MS_OK : ms_cli_fail(err, MS_ERR_USAGE, "--out wants a directory");
}

static ms_status set_events(ms_cli_settings *s, const char *value, ms_error *err)
{
    (void)err;
    s->events = value;
    return MS_OK;
}

static ms_status set_unroll(ms_cli_settings *s, const char *value, ms_error *err)
{
    (void)value, (void)err;
    s->unroll = true;
    return MS_OK;
}

static ms_status set_quiet(ms_cli_settings *s, const char *value, ms_error *err)
{
    (void)value, (void)err;
    s->quiet = true;
    return MS_OK;
}

static ms_status set_help(ms_cli_settings *s, const char *value, ms_error *err)
{
    (void)value, (void)err;
    s->help = true;
    return MS_OK;
}

static ms_status set_no_color(ms_cli_settings *s, const char *value, ms_error *err)
{
    (void)value, (void)err;
    s->color = MS_COLOR_NEVER;
    return MS_OK;
}

static ms_status set_color(ms_cli_settings *s, const char *value, ms_error *err)
{
    static const char *const names[] = {
        [MS_COLOR_AUTO] = "auto", [MS_COLOR_ALWAYS] = "always", [MS_COLOR_NEVER] = "never"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(value, names[i]) == 0) {
            s->color = (ms_cli_color)i;
            return MS_OK;
        }
    return ms_cli_fail(err, MS_ERR_USAGE, "--color wants auto, always or never, not \"%.40s\"",
                       value);
}

/* clang-format off */
static const ms_cli_option options[] = {
    {"format",   0,   "NAME",     "only this report: console, json, md or csv",            set_format},
    {"file",     'o', "FILE",     "where --format goes; - is standard output",             set_file},
    {"output",   0,   "FMT=FILE", "another report; may be repeated",                       add_output},
    {"out",      0,   "DIR",      "where the two report files go (default: reports)",      set_directory},
    {"events",   0,   "FILE",     "the allocations and frees of a step, one a line",       set_events},
    {"unroll",   0,   NULL,       "a record for every layer, also for equal ones",         set_unroll},
    {"quiet",    'q', NULL,       "no console report, no messages but errors",             set_quiet},
    {"color",    0,   "WHEN",     "auto, always or never",                                 set_color},
    {"no-color", 0,   NULL,       "the same as --color=never",                             set_no_color},
    {"help",     'h', NULL,       "this text",                                             set_help},
};
/* clang-format on */
enum { OPTION_COUNT = sizeof options / sizeof options[0] };

const ms_cli_option *ms_cli_option_at(size_t index)
{
    return index < OPTION_COUNT ? &options[index] : NULL;
}

/* Names of all options, those of the run after ours. */
static const char *option_name(size_t index)
{
    size_t count;
    const ms_run_field *fields = ms_run_fields(&count);
    if (index < OPTION_COUNT)
        return options[index].name;
    return index - OPTION_COUNT < count ? fields[index - OPTION_COUNT].name : NULL;
}

/* One argument taken apart. */
typedef struct word {
    const ms_cli_option *option; /* or NULL: a field of the run */
    const char *field;
    const char *value; /* what follows "=" or the letter; NULL when there is nothing */
    char text[48];     /* the name as it was typed */
} word;

static bool find_name(word *w, const char *name, size_t length)
{
    for (size_t i = 0; option_name(i); i++) {
        if (strlen(option_name(i)) != length || memcmp(option_name(i), name, length) != 0)
            continue;
        w->option = i < OPTION_COUNT ? &options[i] : NULL;
        w->field = i < OPTION_COUNT ? NULL : option_name(i);
        return true;
    }
    return false;
}

static ms_status read_word(const char *argument, word *w, ms_error *err)
{
    memset(w, 0, sizeof *w);
    if (argument[1] != '-') {
        snprintf(w->text, sizeof w->text, "-%c", argument[1]);
        for (size_t i = 0; i < OPTION_COUNT; i++)
            if (options[i].letter == argument[1])
                w->option = &options[i];
        w->value = argument[2] ? argument + 2 : NULL;
        return w->option ? MS_OK : ms_cli_fail(err, MS_ERR_USAGE, "no option %s", w->text);
    }
    const char *name = argument + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    snprintf(w->text, sizeof w->text, "--%.*s", (int)(length < 40 ? length : 40), name);
    w->value = equals ? equals + 1 : NULL;
    if (find_name(w, name, length))
        return MS_OK;
    const char *near = ms_cli_nearest(w->text + 2, option_name);
    return ms_cli_fail(err, MS_ERR_USAGE, "no option %s%s%s%s", w->text,
                       near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
}

/* Applies one option; `next` is the argument after it, `used_next` says whether it was the value.
 */
static ms_status apply(const char *argument, const char *next, ms_cli_settings *s, bool *used_next,
                       ms_error *err)
{
    word w;
    ms_status status = read_word(argument, &w, err);
    if (status != MS_OK)
        return status;
    bool takes_value = !w.option || w.option->value_name;
    if (!takes_value && w.value)
        return ms_cli_fail(err, MS_ERR_USAGE, "%s takes no value", w.text);
    *used_next = takes_value && !w.value;
    const char *value = *used_next ? next : w.value;
    if (takes_value && !value)
        return ms_cli_fail(err, MS_ERR_USAGE, "%s wants a value", w.text);
    if (w.option)
        return w.option->apply(s, value, err);
    return ms_run_set(s->run, w.field, value, err);
}

ms_status ms_cli_parse(int argc, char **argv, ms_cli_settings *settings, ms_error *err)
{
    bool options_end = false;
    const char *config = NULL;
    for (int i = 0; i < argc; i++) {
        const char *argument = argv[i];
        bool used_next = false;
        ms_status status = MS_OK;
        if (!options_end && strcmp(argument, "--") == 0) {
            options_end = true;
        } else if (!options_end && argument[0] == '-' && argument[1] != '\0') {
            status = apply(argument, i + 1 < argc ? argv[i + 1] : NULL, settings, &used_next, err);
        } else if (config) {
            status =
                ms_cli_fail(err, MS_ERR_USAGE, "two configs: %.80s and %.80s", config, argument);
        } else {
            config = argument;
            status = ms_run_set(settings->run, "config", argument, err);
        }
        if (status != MS_OK)
            return status;
        i += used_next;
    }
    return MS_OK;
}
