/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A command line as reports show it: no absolute path, no secret. scripts/memscope_torch/shown.py
 * does the same for programs with Python.
 */
#ifndef MS_CLI_CAPTURE_COMMAND_WORDS_H
#define MS_CLI_CAPTURE_COMMAND_WORDS_H

#include <stdbool.h>
#include <stdio.h>

/* Writes the words as strings of JSON with commas between them. */
void ms_cli_write_command(FILE *out, char *const *words, bool hides_paths);

#endif
