/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memscope plan: its options are the fields of a plan and the few below.
 */
#include <string.h>

#include "cli/cli.h"

typedef struct plan_settings {
    ms_plan *plan;
    const char *format, *file;
    bool quiet, help;
} plan_settings;

static const ms_run_field own_fields[] = {
    {"format", "NAME", "console or json", "console", "Output"},
    {"file", "FILE", "or -o: where it goes; - is standard output", "-", "Output"},
    {"quiet", NULL, "or -q: no messages but errors", NULL, "Output"},
    {"help", NULL, "or -h: this text", NULL, "Output"},
};
enum { OWN_COUNT = sizeof own_fields / sizeof own_fields[0] };

const ms_run_field *ms_cli_plan_field_at(size_t index)
{
    size_t count;
    const ms_run_field *fields = ms_plan_fields(&count);
    if (index < count)
        return &fields[index];
    return index - count < OWN_COUNT ? &own_fields[index - count] : NULL;
}

static const char *field_name(size_t index)
{
    const ms_run_field *field = ms_cli_plan_field_at(index);
    return field ? field->name : NULL;
}

static const char *format_name(size_t index)
{
    static const char *const names[] = {"console", "json"};
    return index < sizeof names / sizeof names[0] ? names[index] : NULL;
}

static ms_status set_format(plan_settings *s, const char *value, ms_error *err)
{
    s->format = value;
    for (size_t i = 0; format_name(i); i++)
        if (strcmp(value, format_name(i)) == 0)
            return MS_OK;
    const char *near = ms_cli_nearest(value, format_name);
    return ms_cli_fail(err, MS_ERR_USAGE, "no format \"%.40s\"%s%s%s (console or json)", value,
                       near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static ms_status set(plan_settings *s, const ms_run_field *field, const char *value, ms_error *err)
{
    if (field < own_fields || field >= own_fields + OWN_COUNT)
        return ms_plan_set(s->plan, field->name, value, err);
    if (strcmp(field->name, "format") == 0)
        return set_format(s, value, err);
    if (strcmp(field->name, "file") == 0)
        s->file = value;
    s->quiet |= strcmp(field->name, "quiet") == 0;
    s->help |= strcmp(field->name, "help") == 0;
    return MS_OK;
}

/* Finds the field of "--name", "--name=value", "-x" or "-xvalue"; *value points behind it. */
static const ms_run_field *find_field(const char *argument, const char **value)
{
    static const char *const letters[] = {"o:file", "q:quiet", "h:help"};
    const char *name = argument + 2;
    size_t length = strcspn(name, "=");
    *value = name[length] ? name + length + 1 : NULL;
    if (argument[1] != '-') {
        *value = argument[2] ? argument + 2 : NULL;
        name = "";
        for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++)
            if (letters[i][0] == argument[1])
                name = letters[i] + 2;
        length = strlen(name);
    }
    for (size_t i = 0; field_name(i); i++)
        if (strlen(field_name(i)) == length && memcmp(field_name(i), name, length) == 0)
            return ms_cli_plan_field_at(i);
    return NULL;
}

static ms_status no_field(const char *argument, ms_error *err)
{
    char name[41];
    if (argument[0] != '-')
        return ms_cli_fail(err, MS_ERR_USAGE, "plan wants options, not %.80s", argument);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(argument, "="), argument);
    const char *near = strlen(name) > 2 ? ms_cli_nearest(name + 2, field_name) : NULL;
    return ms_cli_fail(err, MS_ERR_USAGE, "no option %s%s%s%s", name,
                       near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
}

static ms_status parse(int argc, char **argv, plan_settings *s, ms_error *err)
{
    for (int i = 0; i < argc; i++) {
        const char *value = NULL;
        const ms_run_field *field =
            argv[i][0] == '-' && argv[i][1] ? find_field(argv[i], &value) : NULL;
        if (!field)
            return no_field(argv[i], err);
        if (!field->value_name && value)
            return ms_cli_fail(err, MS_ERR_USAGE, "--%s takes no value", field->name);
        if (field->value_name && !value && i + 1 == argc)
            return ms_cli_fail(err, MS_ERR_USAGE, "--%s wants a value", field->name);
        if (field->value_name && !value)
            value = argv[++i];
        ms_status status = set(s, field, value ? value : "true", err);
        if (status != MS_OK)
            return status;
    }
    return MS_OK;
}

static ms_status write_plan(FILE *out, const ms_cli_source *source, ms_error *err)
{
    return ms_plan_write(source->plan, source->format, out, err);
}

/* "plan.json" alone means JSON. */
static const char *format_of(const plan_settings *s)
{
    const char *dot = s->file ? strrchr(s->file, '.') : NULL;
    if (s->format)
        return s->format;
    return dot && strcmp(dot, ".json") == 0 ? "json" : "console";
}

/* That nothing fits is an answer, which is written before it is said. */
static int solve(const plan_settings *s, ms_error *err)
{
    ms_cli_stop_on_interrupt(s->plan);
    ms_status status = ms_plan_solve(s->plan, err);
    ms_cli_stop_on_interrupt(NULL);
    const char *note;
    for (size_t i = 0; !s->quiet && (note = ms_plan_note(s->plan, i)) != NULL; i++)
        fprintf(stderr, "note: %s\n", note);
    if (status == MS_OK || status == MS_ERR_INFEASIBLE || status == MS_ERR_STOPPED) {
        ms_error write_error = {.status = MS_OK};
        ms_cli_source source = {.write = write_plan, .plan = s->plan, .format = format_of(s)};
        if (ms_cli_write_file(s->file ? s->file : "-", &source, &write_error) != MS_OK)
            return ms_cli_complain(&write_error);
    }
    return status == MS_OK ? 0 : ms_cli_complain(err);
}

int ms_cli_plan(int argc, char **argv)
{
    ms_error err = {.status = MS_OK};
    plan_settings settings = {.plan = ms_plan_create()};
    int code = 0;
    if (!settings.plan)
        ms_cli_fail(&err, MS_ERR_NOMEM, "out of memory");
    ms_status status = settings.plan ? parse(argc, argv, &settings, &err) : err.status;
    if (settings.help) {
        ms_cli_print_help(stdout, ms_cli_command_find("plan"));
    } else if (status != MS_OK) {
        code = ms_cli_complain(&err);
        if (status == MS_ERR_USAGE)
            fputs("Try: memscope help plan\n", stderr);
    } else {
        code = solve(&settings, &err);
    }
    ms_plan_free(settings.plan);
    return code;
}
