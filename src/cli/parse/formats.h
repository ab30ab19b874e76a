/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The formats of a command, and those that a call asks for.
 */
#ifndef MS_CLI_PARSE_FORMATS_H
#define MS_CLI_PARSE_FORMATS_H

#include "cli/parse/settings.h"

/* "console, json or md". */
enum { MS_CLI_FORMATS_BYTES = 160 };
const char *ms_cli_list_formats(const ms_cli_grammar *grammar, char text[MS_CLI_FORMATS_BYTES]);

/* What --format and -o mean together: a file alone has the format its name ends in. */
const char *ms_cli_format(const ms_cli_settings *settings);

/* Fails where the name of the file ends as a format's that is known and that the command does not
 * have; other names, such as run.log, have the command's first format. */
ms_status ms_cli_check_ending(const ms_cli_settings *settings, ms_error *err);

/* --format and --output FORMAT=FILE, for rows of options. */
ms_status ms_cli_set_format(ms_cli_settings *settings, const char *value, ms_error *err);
ms_status ms_cli_add_output(ms_cli_settings *settings, const char *value, ms_error *err);

#endif
