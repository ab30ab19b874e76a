/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The options of a call as they were given: none twice with two values.
 */
#ifndef MS_CLI_PARSE_GIVEN_H
#define MS_CLI_PARSE_GIVEN_H

#include "cli/parse/grammar.h"

typedef struct ms_cli_given ms_cli_given;

/* For the options of so many arguments; NULL when out of memory. */
ms_cli_given *ms_cli_given_new(int arguments);
void ms_cli_given_free(ms_cli_given *given); /* NULL is fine */

/* Notes an option as it was typed, at that argument (from 1, behind the command's name), with the
 * value that it sets. Refuses another value than it got before: the last one would win in silence.
 * Options that add to what was given are free, and fields of the second side are apart. */
ms_status ms_cli_given_note(ms_cli_given *given, const ms_cli_choice *choice, const char *typed,
                            int argument, const char *value, bool is_second, ms_error *err);

#endif
