/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_REPORT_KIT_MARKDOWN_H
#define MS_REPORT_KIT_MARKDOWN_H

#include "report/kit/escape.h"
#include "report/kit/field.h"

#include <stdint.h>
#include <stdio.h>

/* Writes a note as a list item; nothing for NULL. */
void ms_markdown_note(FILE *out, const char *label, const char *text);

#endif
