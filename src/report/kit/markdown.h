/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_REPORT_KIT_MARKDOWN_H
#define MS_REPORT_KIT_MARKDOWN_H

#include "report/kit/escape.h"
#include "report/kit/field.h"

#include <stdint.h>
#include <stdio.h>

/* The heading, the answer, and the line on what was asked, which the caller ends. */
void ms_markdown_title(FILE *out, const char *heading, const char *verdict, const char *title);
/* A list item for what a reader should know besides the verdict; nothing for NULL. */
void ms_markdown_note(FILE *out, const char *label, const char *text);

/* The section that names every field of the run, `count` of them, one row each. */
void ms_markdown_run(FILE *out, const ms_field *fields, uint32_t count);

#endif
