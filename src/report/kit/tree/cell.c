/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/kit/tree/cell.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/locale.h"
#include "base/text/number.h"
#include "base/text/size.h"
#include "report/kit/escape.h"

static const char *sign_of(const ms_cell *c)
{
    return c->count == 0 ? "" : c->is_less ? "-" : "+";
}

const char *ms_cell_words(const ms_cell *c, char text[MS_CELL_BYTES_OF_TEXT])
{
    char number[MS_FIXED_TEXT];
    const char *unit = c->unit ? c->unit : "";
    switch (c->kind) {
    case MS_CELL_NONE:
        return "";
    case MS_CELL_TEXT:
    case MS_CELL_CODE:
    case MS_CELL_VERDICT:
        return c->text;
    case MS_CELL_GIB:
        snprintf(text, MS_CELL_BYTES_OF_TEXT, "%s%s", ms_gib(c->count, number), unit);
        break;
    case MS_CELL_BYTES:
        ms_size_format(c->count, text, MS_CELL_BYTES_OF_TEXT);
        break;
    case MS_CELL_SIZE:
        return ms_bytes_text(c->count, text);
    case MS_CELL_CHANGE:
        snprintf(text, MS_CELL_BYTES_OF_TEXT, "%s%s", sign_of(c),
                 ms_size_format(c->count, number, sizeof number));
        break;
    case MS_CELL_SIGNED:
        snprintf(text, MS_CELL_BYTES_OF_TEXT, "%c%" PRIu64, c->is_less ? '-' : '+', c->count);
        break;
    case MS_CELL_EXACT:
    case MS_CELL_COUNT:
        snprintf(text, MS_CELL_BYTES_OF_TEXT, "%" PRIu64, c->count);
        break;
    case MS_CELL_EVEN:
        ms_text_print(text, MS_CELL_BYTES_OF_TEXT, "%.*f%s", (int)c->decimals, c->number, unit);
        break;
    case MS_CELL_NUMBER:
        snprintf(text, MS_CELL_BYTES_OF_TEXT, "%s%s", ms_fixed(c->number, c->decimals, number),
                 unit);
        break;
    }
    return text;
}

/* ---- HTML ---- */

/* The value as programs read it; NULL: it is a text. */
static const char *value_of(const ms_cell *c, char text[MS_FIXED_TEXT])
{
    if (c->kind < MS_CELL_GIB)
        return NULL;
    if (c->kind >= MS_CELL_NUMBER)
        return ms_fixed(isnan(c->number) ? 0 : c->number, c->decimals > 3 ? c->decimals : 3, text);
    snprintf(text, MS_FIXED_TEXT, "%s%" PRIu64, c->is_less ? "-" : "", c->count);
    return text;
}

/* Bytes have their unit with them on a page. */
static const char *shown_text(const ms_cell *c, char text[MS_CELL_BYTES_OF_TEXT])
{
    char bytes[MS_BYTES_TEXT];
    if (c->kind == MS_CELL_GIB || c->kind == MS_CELL_BYTES || c->kind == MS_CELL_EXACT)
        return ms_bytes_text(c->count, text);
    if (c->kind != MS_CELL_SIGNED)
        return ms_cell_words(c, text);
    snprintf(text, MS_CELL_BYTES_OF_TEXT, "%s%s", sign_of(c), ms_bytes_text(c->count, bytes));
    return text;
}

void ms_cell_html(FILE *out, const ms_cell *c, bool is_figure)
{
    char text[MS_CELL_BYTES_OF_TEXT], number[MS_FIXED_TEXT];
    const char *value = value_of(c, number);
    fputs(is_figure ? "<td class=\"n\">" : "<td>", out);
    if (value)
        fprintf(out, "<data value=\"%s\">", value);
    fputs(c->kind == MS_CELL_CODE ? "<code>" : "", out);
    ms_xml_text(out, shown_text(c, text));
    fputs(c->kind == MS_CELL_CODE ? "</code>" : "", out);
    fputs(value ? "</data></td>" : "</td>", out);
}
