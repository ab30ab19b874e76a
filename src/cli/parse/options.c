/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/parse/options.h"

#include <stdlib.h>
#include <string.h>

#include "cli/output/message.h"
#include "cli/output/place.h"
#include "cli/parse/cached.h"
#include "memscope/check.h"

ms_status ms_cli_set_file(ms_cli_settings *s, const char *value, ms_error *err)
{
    (void)err;
    s->file = ms_cli_path(value);
    return MS_OK;
}

ms_status ms_cli_set_directory(ms_cli_settings *s, const char *value, ms_error *err)
{
    s->directory = value;
    return *value ? MS_OK : ms_cli_fail(err, MS_ERR_USAGE, "--out needs a directory");
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

ms_status ms_cli_set_color(ms_cli_settings *s, const char *value, ms_error *err)
{
    for (size_t i = 0; ms_cli_color_name(i); i++)
        if (strcmp(value, ms_cli_color_name(i)) == 0) {
            s->color = (ms_cli_color)i;
            return MS_OK;
        }
    return ms_cli_fail(err, MS_ERR_USAGE, "--color is auto, always or never, not \"%.40s\"", value);
}

ms_status ms_cli_set_budgets(ms_cli_settings *s, const char *value, ms_error *err)
{
    s->config = value;
    return *value ? MS_OK : ms_cli_fail(err, MS_ERR_USAGE, "--budgets needs a file");
}

ms_status ms_cli_set_root(ms_cli_settings *s, const char *value, ms_error *err)
{
    s->root = value;
    return *value ? MS_OK : ms_cli_fail(err, MS_ERR_USAGE, "--root needs a folder");
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
    if (strcmp(field, "config") == 0)
        value = ms_cli_cached(value);
    return ms_run_set(s->of_second ? s->of_second : s->run, field, value, err);
}

const ms_cli_fields ms_cli_run_fields[] = {{.list = ms_run_fields, .set = ms_cli_set_run},
                                           {.list = NULL}};

ms_status ms_cli_take_config(ms_cli_settings *s, const char *word, ms_error *err)
{
    s->config = ms_cli_cached(word);
    return ms_run_set(s->run, "config", s->config, err);
}

const char *ms_cli_budgets(const ms_cli_settings *s)
{
    return s->config ? s->config : "memscope.budgets.json";
}

ms_status ms_cli_refuse_word(ms_cli_settings *s, const char *word, ms_error *err)
{
    (void)s;
    return ms_cli_fail(err, MS_ERR_USAGE,
                       "unexpected argument %.80s; name a file of budgets with --budgets", word);
}

const ms_cli_fields ms_cli_no_fields[] = {{.list = NULL}};
