/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * memscope plan: its options are the fields of a plan and the few below.
 */
#include "cli/cli.h"

static const char *format_at(size_t index)
{
    static const char *const names[] = {"console", "json"};
    return index < sizeof names / sizeof names[0] ? names[index] : NULL;
}

static ms_status set_plan(ms_cli_settings *s, const char *field, const char *value, ms_error *err)
{
    return ms_plan_set(s->plan, field, value, err);
}

static ms_status refuse_word(ms_cli_settings *s, const char *word, ms_error *err)
{
    (void)s;
    return ms_cli_fail(err, MS_ERR_USAGE, "plan wants options, not %.80s", word);
}

/* clang-format off */
static const ms_cli_option options[] = {
    {"format", 0,   "NAME", "console or json [console]",                       ms_cli_set_format},
    {"file",   'o', "FILE", "or -o: where it goes; - is standard output [-]", ms_cli_set_file},
    {"quiet",  'q', NULL,   "or -q: no messages but errors",                   ms_cli_set_quiet},
    {"help",   'h', NULL,   "or -h: this text",                                ms_cli_set_help},
    {NULL,     0,   NULL,   NULL,                                              NULL},
};
/* clang-format on */

static const ms_cli_fields field_lists[] = {{ms_plan_fields, set_plan}, {NULL, NULL}};

const ms_cli_grammar ms_cli_plan_grammar = {
    .options = options,
    .fields = field_lists,
    .take_word = refuse_word,
    .format_at = format_at,
    .help_names_letters = true,
};

static ms_status write_plan(FILE *out, const ms_cli_source *source, ms_error *err)
{
    return ms_plan_write(source->plan, source->format, out, err);
}

/* That nothing fits is an answer, which is written before it is said. */
static int solve(const ms_cli_settings *s, ms_error *err)
{
    ms_status status = ms_plan_solve(s->plan, err);
    const char *note;
    for (size_t i = 0; !s->quiet && (note = ms_plan_note(s->plan, i)) != NULL; i++)
        fprintf(stderr, "note: %s\n", note);
    if (status == MS_OK || status == MS_ERR_INFEASIBLE) {
        ms_error write_error = {.status = MS_OK};
        ms_cli_source source = {.write = write_plan, .plan = s->plan, .format = ms_cli_format(s)};
        if (ms_cli_write_file(s->file ? s->file : "-", &source, &write_error) != MS_OK)
            return ms_cli_complain(&write_error);
    }
    return status == MS_OK ? 0 : ms_cli_complain(err);
}

int ms_cli_plan(int argc, char **argv)
{
    ms_error err = {.status = MS_OK};
    ms_cli_settings settings = {.plan = ms_plan_create()};
    if (!settings.plan) {
        ms_cli_fail(&err, MS_ERR_NOMEM, "out of memory");
        return ms_cli_complain(&err);
    }
    int code = ms_cli_run(argc, argv, "plan", &settings, solve);
    ms_plan_free(settings.plan);
    return code;
}
