/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Comma-separated values (RFC 4180), one record per line.
 */
#ifndef MS_BASE_TEXT_CSV_H
#define MS_BASE_TEXT_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Writes a value as ms_printable does, quoted where necessary. A value that a spreadsheet would
 * read as a formula (it begins with = + - @ and is no number) gets a leading apostrophe. */
void ms_csv_put(FILE *out, const char *text);

/* Splits a line without its line break in place and passes each value to `take`; false when quotes
 * do not match. */
bool ms_csv_split(char *line, void (*take)(void *context, char *value), void *context);

/* Removes a final "\n" or "\r\n". */
void ms_csv_chomp(char *line, size_t length);

#endif
