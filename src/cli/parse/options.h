/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Options of several commands.
 */
#ifndef MS_CLI_PARSE_OPTIONS_H
#define MS_CLI_PARSE_OPTIONS_H

#include "cli/parse/settings.h"

/* For rows of options of several commands. */
ms_status ms_cli_set_file(ms_cli_settings *settings, const char *value, ms_error *err);
ms_status ms_cli_set_directory(ms_cli_settings *settings, const char *value, ms_error *err);
ms_status ms_cli_set_budgets(ms_cli_settings *settings, const char *value, ms_error *err);
ms_status ms_cli_set_root(ms_cli_settings *settings, const char *value, ms_error *err);
ms_status ms_cli_set_jobs(ms_cli_settings *settings, const char *value, ms_error *err);
ms_status ms_cli_set_quiet(ms_cli_settings *settings, const char *value, ms_error *err);
ms_status ms_cli_set_help(ms_cli_settings *settings, const char *value, ms_error *err);
ms_status ms_cli_set_color(ms_cli_settings *settings, const char *value, ms_error *err);
ms_status ms_cli_set_no_color(ms_cli_settings *settings, const char *value, ms_error *err);

/* The file of --budgets, or the default. ms_cli_refuse_word refuses a bare word, which lacks
 * --budgets. */
const char *ms_cli_budgets(const ms_cli_settings *settings);
ms_status ms_cli_refuse_word(ms_cli_settings *settings, const char *word, ms_error *err);

/* For grammars with the fields of a run: set a field; take the bare word as the config. */
ms_status ms_cli_set_run(ms_cli_settings *settings, const char *field, const char *value,
                         ms_error *err);
ms_status ms_cli_take_config(ms_cli_settings *settings, const char *word, ms_error *err);

/* The fields of a run, for such grammars. */
extern const ms_cli_fields ms_cli_run_fields[];

/* For grammars without fields. */
extern const ms_cli_fields ms_cli_no_fields[];

#endif
