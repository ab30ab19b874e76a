/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parts of HTML pages: one file, nothing from the network, readable without its script. Every text
 * goes through ms_xml_text.
 */
#ifndef MS_REPORT_KIT_HTML_H
#define MS_REPORT_KIT_HTML_H

#include "config/treatment/treatment.h"
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
    ms_fit_verdict tone; /* the answer's colour: good news, in between, bad */
} ms_html_head;

/* What figures are that memscope works out itself. */
#define MS_HTML_PREDICTED "from the run's configuration alone; figures are predictions"

/* All before the first section but the end of the header, which the sections begin with. */
void ms_html_begin(FILE *out, const ms_html_head *head);
/* The rest of the page: links to the sections that are not left out, which end the header, then
 * these, and where the figures are from. `write` writes the content of one; false, also of it: out
 * of memory. */
bool ms_html_finish(FILE *out, const ms_html_link *links, size_t count, const char *made_from,
                    const void *view, bool (*write)(FILE *out, const void *view, size_t index));
void ms_html_paragraph(FILE *out, const char *class_name, const char *text);
/* What a reader should know besides the verdict: "Note: ...". */
void ms_html_note(FILE *out, const char *label, const char *text);

/* <data value="1024">1.00 KiB</data>, with an id unless it is NULL. */
void ms_html_bytes(FILE *out, const char *id, uint64_t bytes);

/* Cells of a table: a text; bytes; a number with its decimals, which may be NaN. */
void ms_html_cell(FILE *out, const char *text);
void ms_html_code_cell(FILE *out, const char *text);
void ms_html_bytes_cell(FILE *out, uint64_t bytes);
void ms_html_count_cell(FILE *out, uint64_t count);
void ms_html_number_cell(FILE *out, double value, uint32_t decimals);

/* A table up to its rows: headings are separated by '|', those of numbers begin with '#'. */
void ms_html_table(FILE *out, const char *class_name, const char *caption, const char *headings);
void ms_html_end_table(FILE *out);

/* One piece of a bar; `class_name` is its colour. */
typedef struct ms_html_piece {
    const char *class_name, *title;
    uint64_t bytes;
} ms_html_piece;

/* Pieces beside one another, out of `whole`; a mark at `limit` when it is within. The figures
 * follow as a list. */
void ms_html_bar(FILE *out, const char *label, const ms_html_piece *pieces, size_t count,
                 uint64_t whole_bytes, uint64_t limit_bytes);

/* The run as a list of its fields; and how each layer is treated. False: out of memory. */
void ms_html_run(FILE *out, const ms_field *fields, uint32_t count);
bool ms_html_treatments(FILE *out, const ms_treatments *treatments, uint64_t num_layers,
                        ms_arena *arena);
bool ms_html_is_treated(const ms_treatments *treatments, uint64_t num_layers);

#endif
