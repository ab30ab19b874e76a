/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Text from outside (names, paths, values of files) in the formats of reports. Each of these writes
 * one line, as ms_printable has it, with what its format reserves escaped.
 */
#ifndef MS_REPORT_KIT_ESCAPE_H
#define MS_REPORT_KIT_ESCAPE_H

#include <stdio.h>

/* For XML, SVG and HTML, in elements and in quoted attributes. */
void ms_xml_text(FILE *out, const char *text);

/* The same for a text of several lines, whose line breaks stay. */
void ms_xml_lines(FILE *out, const char *text);

/* For Markdown, also in the cell of a table and at the start of a line: nothing in the text is
 * markup, HTML, a link, an image, or, on GitHub and GitLab, a mention or a reference. */
void ms_markdown_text(FILE *out, const char *text);

#endif
