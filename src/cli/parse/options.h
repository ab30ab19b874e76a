/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Options of several commands.
 */
#ifndef MS_CLI_PARSE_OPTIONS_H
#define MS_CLI_PARSE_OPTIONS_H

#include <stddef.h>

#include "cli/parse/settings.h"

/* What sets a member of the settings: the last part of an option's row. */
#define MS_CLI_AT(is, at) NULL, .kind = is, .member = offsetof(ms_cli_settings, at)
#define MS_CLI_FLAG(at) MS_CLI_AT(MS_CLI_IS_FLAG, at) /* bool */
#define MS_CLI_PATH(at) MS_CLI_AT(MS_CLI_IS_PATH, at) /* const char *: ms_cli_path of the value */
#define MS_CLI_TEXT(at, what) MS_CLI_AT(MS_CLI_IS_TEXT, at), .needs = what
#define MS_CLI_CHOICE(at, name_at) MS_CLI_AT(MS_CLI_IS_CHOICE, at), .choice_at = name_at
#define MS_CLI_NUMBER(at, largest) MS_CLI_AT(MS_CLI_IS_NUMBER, at), .most = largest

/* Rows that most commands have; the last one ends the list. */
/* clang-format off */
#define MS_CLI_COLOR_ROWS \
    {"color", 0, "WHEN", "auto, always or never", .apply = ms_cli_set_color}, \
    {"no-color", 0, NULL, "the same as --color=never", .apply = ms_cli_set_no_color}
#define MS_CLI_HELP_ROW {"help", 'h', NULL, "print this help", MS_CLI_FLAG(help)}, {.name = NULL}

/* clang-format on */

/* Sets an option by its row. */
ms_status ms_cli_set_option(ms_cli_settings *settings, const ms_cli_option *option,
                            const char *value, ms_error *err);

/* For rows of options of several commands. */
ms_status ms_cli_set_jobs(ms_cli_settings *settings, const char *value, ms_error *err);
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

/* ---- cached ---- */

/* Models in the cache of huggingface_hub on this machine, whose place the environment says; the
 * library reads no environment. */

/* The config.json of "owner/name" in $HF_HUB_CACHE, $HF_HOME/hub or ~/.cache/huggingface/hub, valid
 * until this is called twice more; `model` itself where it is built in, a path, or not there. */
const char *ms_cli_cached(const char *model);

#endif
