/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parts of HTML pages: self-contained files, readable without their script. Every text is written
 * by ms_xml_text.
 */
#ifndef MS_REPORT_KIT_HTML_H
#define MS_REPORT_KIT_HTML_H

#include "input/config/treatment/treatment.h"
#include "memscope/verdict.h"
#include "report/kit/draw.h"
#include "report/kit/field.h"

typedef struct ms_html_link {
    const char *id, *title; /* of a section */
    bool is_left_out;
} ms_html_link;

typedef struct ms_html_head {
    const char *title;   /* what was analyzed or planned */
    const char *verdict; /* the answer */
    ms_fit_verdict tone; /* colour of the verdict: good, tight, bad */
} ms_html_head;

/* Origin of predicted figures. */
#define MS_HTML_PREDICTED "from the run's configuration alone; figures are predictions"

/* Writes the page up to the first section; ms_html_finish ends the header. */
void ms_html_begin(FILE *out, const ms_html_head *head);
/* Writes the rest of the page: links to the sections that are not left out, the end of the header,
 * these sections, and the origin of the figures. `write` writes the content of section `index`.
 * Both return false when out of memory. */
bool ms_html_finish(FILE *out, const ms_html_link *links, size_t count, const char *made_from,
                    const void *view, bool (*write)(FILE *out, const void *view, size_t index));
void ms_html_paragraph(FILE *out, const char *class_name, const char *text);
/* A note beside the verdict: "Note: ...". */
void ms_html_note(FILE *out, const char *label, const char *text);

/* <data value="1024">1.00 KiB</data>, with an id unless it is NULL. */
void ms_html_bytes(FILE *out, const char *id, uint64_t bytes);

/* Cells of a table: a text, code, bytes, a count, or a number (may be NaN) with decimals. */
void ms_html_cell(FILE *out, const char *text);
void ms_html_code_cell(FILE *out, const char *text);
void ms_html_bytes_cell(FILE *out, uint64_t bytes);
void ms_html_count_cell(FILE *out, uint64_t count);
void ms_html_number_cell(FILE *out, double value, uint32_t decimals);

/* Begins a table: headings are separated by '|', at most 32; those of numeric columns begin with
 * '#'; the first may be empty. The first cell of each row is a heading: <th scope="row">. */
void ms_html_table(FILE *out, const char *class_name, const char *caption, const char *headings);
void ms_html_end_table(FILE *out);

typedef struct ms_html_column {
    const char *head; /* may be from outside, and "" */
    bool is_number;
} ms_html_column;

/* The same with headings of any text. */
void ms_html_begin_table(FILE *out, const char *class_name, const char *caption,
                         const ms_html_column *columns, uint32_t count);

/* A segment of a bar; `class_name` is its colour. */
typedef struct ms_html_piece {
    const char *class_name, *title;
    uint64_t bytes;
} ms_html_piece;

/* A bar of segments, scaled to `whole_bytes`, with a mark at `limit_bytes` if that is within. A
 * list of the figures follows. */
void ms_html_bar(FILE *out, const char *label, const ms_html_piece *pieces, size_t count,
                 uint64_t whole_bytes, uint64_t limit_bytes);

/* The same without the list of figures, for a cell of a table; its text for screen readers has
 * them. */
void ms_html_small_bar(FILE *out, const char *label, const ms_html_piece *pieces, size_t count,
                       uint64_t whole_bytes, uint64_t limit_bytes);

/* Write the fields of a run, and the treatments of its layers. False: out of memory. */
void ms_html_run(FILE *out, const ms_field *fields, uint32_t count);
bool ms_html_treatments(FILE *out, const ms_treatments *treatments, uint64_t num_layers,
                        ms_arena *arena);
bool ms_html_is_treated(const ms_treatments *treatments, uint64_t num_layers);

#endif
