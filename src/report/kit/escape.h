/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Untrusted text (names, paths, values of files) in the formats of reports. Each function writes
 * one line, made printable as by ms_printable, with the format's reserved characters escaped.
 */
#ifndef MS_REPORT_KIT_ESCAPE_H
#define MS_REPORT_KIT_ESCAPE_H

#include <stdio.h>

/* For XML, SVG and HTML, in elements and quoted attributes. */
void ms_xml_text(FILE *out, const char *text);

/* The same for several lines, keeping line breaks. */
void ms_xml_lines(FILE *out, const char *text);

/* For Markdown, also in table cells and at the start of a line: no part of the text acts as markup,
 * HTML, a link, an image, or, on GitHub and GitLab, a mention or a reference. */
void ms_markdown_text(FILE *out, const char *text);

#endif
