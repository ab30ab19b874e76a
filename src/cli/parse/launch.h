/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Launches of a training, as options and words of a call.
 */
#ifndef MS_CLI_PARSE_LAUNCH_H
#define MS_CLI_PARSE_LAUNCH_H

#include <stdbool.h>

/* Words between quotes, as a shell reads them, which the caller frees. NULL: out of memory. */
char *ms_cli_quote(char **words, int count);

/* A launch, "sh FILE", where the word is a shell script that is there, which the caller frees;
 * NULL: it is none, or there is no memory for it. */
char *ms_cli_script(const char *word);

#endif
