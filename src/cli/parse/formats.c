/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/parse/formats.h"

#include <stdio.h>
#include <string.h>

#include "cli/output/message.h"

static const char *format_name(const void *grammar, size_t index)
{
    return ((const ms_cli_grammar *)grammar)->format_at(index);
}

const char *ms_cli_list_formats(const ms_cli_grammar *grammar, char text[MS_CLI_FORMATS_BYTES])
{
    size_t used = 0;
    for (size_t i = 0; grammar->format_at(i) && used < MS_CLI_FORMATS_BYTES; i++) {
        const char *before = i == 0 ? "" : grammar->format_at(i + 1) ? ", " : " or ";
        used += (size_t)snprintf(text + used, MS_CLI_FORMATS_BYTES - used, "%s%s", before,
                                 grammar->format_at(i));
    }
    return text;
}

ms_status ms_cli_check_format(const ms_cli_grammar *grammar, const char *name, ms_error *err)
{
    char hint[MS_CLI_HINT_BYTES], known[MS_CLI_FORMATS_BYTES];
    for (size_t i = 0; grammar->format_at(i); i++)
        if (strcmp(name, grammar->format_at(i)) == 0)
            return MS_OK;
    return ms_cli_fail(err, MS_ERR_USAGE, "no format \"%.40s\"%s (%s)", name,
                       ms_cli_hint(name, format_name, grammar, "", hint),
                       ms_cli_list_formats(grammar, known));
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
                           "--output needs FORMAT=FILE, for example --output json=report.json");
    if (s->output_count == MS_CLI_MAX_OUTPUTS)
        return ms_cli_fail(err, MS_ERR_USAGE, "--output is given more than %d times",
                           MS_CLI_MAX_OUTPUTS);
    if (add_format(s, value, (size_t)(equals - value)))
        return MS_OK;
    char name[41];
    snprintf(name, sizeof name, "%.*s", (int)(equals - value > 40 ? 40 : equals - value), value);
    return ms_cli_check_format(s->grammar, name, err);
}
