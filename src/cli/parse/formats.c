/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/parse/formats.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/output/message.h"
#include "cli/output/file.h"

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

/* Fails unless it is a format of the grammar. */
static ms_status cli_check_format(const ms_cli_grammar *grammar, const char *name, ms_error *err)
{
    char hint[MS_CLI_HINT_BYTES], known[MS_CLI_FORMATS_BYTES];
    for (size_t i = 0; grammar->format_at(i); i++)
        if (strcmp(name, grammar->format_at(i)) == 0)
            return MS_OK;
    return ms_cli_fail(err, MS_ERR_USAGE, "no format \"%.40s\"%s (%s)", name,
                       ms_cli_hint(name, format_name, grammar, "", hint),
                       ms_cli_list_formats(grammar, known));
}

/* Endings that mean a format of another name, and those of kinds of files that memscope does not
 * write. */
static const struct ending {
    const char *ending, *format; /* NULL: none */
} endings[] = {
    {"txt", "console"},
    {"text", "console"},
    {"htm", "html"},
    {"markdown", "md"},
    {"xml", "junit"},
    {"prom", "prometheus"},
    {"pickle", "memory-viz"},
    {"pkl", "memory-viz"},
    {"jsonl", "jsonl"},
    {"ndjson", "jsonl"},
    {"json", "json"},
    {"md", "md"},
    {"csv", "csv"},
    {"html", "html"},
    {"svg", "svg"},
    {"sarif", "sarif"},
    {"folded", "folded"},
    {"speedscope", "speedscope"},
    {"pdf", NULL},
    {"png", NULL},
    {"jpg", NULL},
    {"jpeg", NULL},
    {"gif", NULL},
    {"webp", NULL},
    {"tsv", NULL},
    {"xls", NULL},
    {"xlsx", NULL},
    {"ods", NULL},
    {"docx", NULL},
    {"tex", NULL},
    {"rst", NULL},
    {"yaml", NULL},
    {"yml", NULL},
    {"toml", NULL},
    {"parquet", NULL},
    {"ps", NULL},
    {"eps", NULL},
    {"gz", NULL},
    {"zip", NULL},
};

/* What the name of the file ends in, behind the last dot; NULL: nothing. */
static const char *ending_of(const ms_cli_settings *s)
{
    const char *dot = s->file ? strrchr(s->file, '.') : NULL;
    return dot && !strchr(dot, '/') ? dot + 1 : NULL;
}

static const char *find_format(const ms_cli_grammar *grammar, const char *name)
{
    for (size_t i = 0; name && grammar->format_at(i); i++)
        if (strcasecmp(name, grammar->format_at(i)) == 0)
            return grammar->format_at(i);
    return NULL;
}

static const struct ending *find_ending(const char *name)
{
    for (size_t i = 0; name && i < sizeof endings / sizeof *endings; i++)
        if (strcasecmp(name, endings[i].ending) == 0)
            return &endings[i];
    return NULL;
}

/* By the name of the file; NULL: it says nothing. */
static const char *format_of_file(const ms_cli_settings *s)
{
    const char *name = ending_of(s), *format = find_format(s->grammar, name);
    const struct ending *known = format ? NULL : find_ending(name);
    return known ? find_format(s->grammar, known->format) : format;
}

const char *ms_cli_format(const ms_cli_settings *s)
{
    const char *format = s->format ? s->format : format_of_file(s);
    return format ? format : s->grammar->format_at(0);
}

ms_status ms_cli_check_ending(const ms_cli_settings *s, ms_error *err)
{
    char known[MS_CLI_FORMATS_BYTES];
    if (s->format || !s->grammar->format_at || format_of_file(s) || !find_ending(ending_of(s)))
        return MS_OK;
    return ms_cli_fail(err, MS_ERR_USAGE,
                       "-o %.80s: this command does not write .%s files; its formats are %s, and "
                       "--format NAME writes one under any file name",
                       s->file, ending_of(s), ms_cli_list_formats(s->grammar, known));
}

ms_status ms_cli_set_format(ms_cli_settings *s, const char *value, ms_error *err)
{
    s->format = value;
    return cli_check_format(s->grammar, value, err);
}

static bool add_format(ms_cli_settings *s, const char *value, size_t length)
{
    const char *name;
    for (size_t i = 0; (name = s->grammar->format_at(i)) != NULL; i++)
        if (strlen(name) == length && memcmp(name, value, length) == 0) {
            s->outputs[s->output_count++] = (ms_cli_output){name, ms_cli_path(value + length + 1)};
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
    return cli_check_format(s->grammar, name, err);
}
