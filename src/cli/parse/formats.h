/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Output formats of a command, and those requested by a call.
 */
#ifndef MS_CLI_PARSE_FORMATS_H
#define MS_CLI_PARSE_FORMATS_H

#include "cli/parse/settings.h"

/* Fails unless the grammar has the format. */
ms_status ms_cli_check_format(const ms_cli_grammar *grammar, const char *name, ms_error *err);

/* The format of --format, else that of the extension of -o's file, else the first one. */
const char *ms_cli_format(const ms_cli_settings *settings);

/* Apply --format and --output FORMAT=FILE, for rows of options. */
ms_status ms_cli_set_format(ms_cli_settings *settings, const char *value, ms_error *err);
ms_status ms_cli_add_output(ms_cli_settings *settings, const char *value, ms_error *err);

#endif
