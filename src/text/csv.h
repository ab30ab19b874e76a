/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Comma-separated values (RFC 4180), a record a line.
 */
#ifndef MS_TEXT_CSV_H
#define MS_TEXT_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Writes a value as ms_printable has it, in quotes where it needs them. One that a spreadsheet
 * would take for a formula (it begins with = + - @ and is no number) gets an apostrophe in front.
 */
void ms_csv_put(FILE *out, const char *text);

/* Cuts a line without its end into values, which stand in the line itself from then on; false when
 * quotes are amiss. `take` gets each in turn. */
bool ms_csv_split(char *line, void (*take)(void *context, char *value), void *context);

/* Cuts off "\n" or "\r\n". */
void ms_csv_chomp(char *line, size_t length);

#endif
