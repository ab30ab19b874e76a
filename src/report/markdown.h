/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_REPORT_MARKDOWN_H
#define MS_REPORT_MARKDOWN_H

#include <stdio.h>

/* Text in a table cell: a bar would end the cell. */
void ms_markdown_cell(FILE *out, const char *text);

#endif
