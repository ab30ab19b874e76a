/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/commands/devices.h"

#include <string.h>

#include "cli/commands/commands.h"
#include "cli/output/file.h"
#include "cli/output/message.h"
#include "cli/parse/formats.h"
#include "cli/parse/options.h"

bool ms_cli_take_devices(ms_cli_settings *s, const char *field, const char *value)
{
    if (strcmp(field, "device") != 0)
        return false;
    s->devices = ms_devices_are_listed(value) ? value : NULL;
    return s->devices != NULL;
}

static ms_status set_run(ms_cli_settings *s, const char *field, const char *value, ms_error *err)
{
    return ms_cli_take_devices(s, field, value) ? MS_OK : ms_cli_set_run(s, field, value, err);
}

const ms_cli_fields ms_cli_many_run_fields[] = {{.list = ms_run_fields, .set = set_run},
                                                {.list = NULL}};

static ms_status write_table(FILE *out, const ms_cli_source *source, ms_error *err)
{
    return ms_devices_write(source->data, source->format, out, err);
}

int ms_cli_write_devices(const ms_cli_settings *s, ms_devices *table, ms_status none, ms_error *err)
{
    if (!table)
        return ms_cli_complain(err);
    const char *note;
    for (size_t i = 0; !s->quiet && (note = ms_devices_note(table, i)) != NULL; i++)
        ms_cli_say("note: %s", note);
    bool to_stdout = !s->file || strcmp(s->file, "-") == 0 || s->color == MS_COLOR_ALWAYS;
    ms_style style = ms_cli_style(to_stdout ? s->color : MS_COLOR_NEVER);
    ms_devices_set_style(table, &style);
    const ms_cli_source source = {.write = write_table, .data = table, .format = ms_cli_format(s)};
    ms_status status = ms_cli_write_file(s->file ? s->file : "-", &source, err);
    const ms_fit_verdict verdict = ms_devices_verdict(table);
    ms_devices_free(table);
    if (status != MS_OK)
        return ms_cli_complain(err);
    return verdict == MS_VERDICT_NO ? ms_status_exit_code(none) : ms_cli_exit_code_of(verdict);
}
