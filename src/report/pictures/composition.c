/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/pictures/composition.h"

#include <inttypes.h>
#include <string.h>

#include "report/pictures/picture.h"
#include "report/kit/category_id.h"
#include "report/pictures/treemap.h"

enum { MOST_CELLS = MS_PEAK_TENSORS + 1 };
enum { HEAD_HEIGHT = 18, LINE_HEIGHT = 14 };

static const double letter_width = 6.5, bold_letter_width = 7.6; /* about */

typedef struct cell {
    const char *name;
    uint32_t count;
    uint64_t bytes;
} cell;

/* Largest first: the tensors of a category that are listed, and those that are not. */
static uint32_t cells_of(const ms_view *view, uint32_t category, cell cells[MOST_CELLS])
{
    const ms_peak *peak = view->ledger->peak;
    const ms_trace *trace = &view->ledger->simulation->trace;
    cell rest = {"others", peak->category_count[category], peak->category_bytes[category]};
    uint32_t count = 0;
    for (uint32_t i = 0; i < peak->tensors.count; i++) {
        const ms_peak_tensor *t = &peak->tensors.items[i];
        if (trace->storages.items[t->storage].category != category)
            continue;
        cells[count++] = (cell){view->tensors[i].label, t->count, t->bytes};
        rest.bytes -= t->bytes;
        rest.count -= t->count;
    }
    uint32_t at = rest.bytes ? count++ : MOST_CELLS;
    for (; at < MOST_CELLS && at > 0 && cells[at - 1].bytes < rest.bytes; at--)
        cells[at] = cells[at - 1];
    if (at < MOST_CELLS)
        cells[at] = rest;
    return count;
}

/* So many bytes of a name. Of one that is longer than its place the end, from a part's begin if it
 * can be: that tells tensors apart. */
static void put_label(FILE *out, ms_spot at, double width, const char *attributes, const char *text,
                      size_t length)
{
    enum { FEWEST = 5, MOST = 120 };
    if (width < FEWEST * letter_width)
        return;
    char shown[MOST + 4];
    size_t room = (size_t)(width / letter_width);
    room = room < MOST ? room : MOST;
    const char *end = text + length, *tail = length <= room ? text : end - (room - 1);
    const char *part = tail > text ? memchr(tail, '.', room - 1) : NULL;
    if (part && (size_t)(end - part) > room / 2)
        tail = part + 1;
    while (tail < end && ((unsigned char)*tail & 0xc0) == 0x80) /* inside a character */
        tail++;
    snprintf(shown, sizeof shown, "%s%.*s", tail > text ? "\xe2\x80\xa6" : "", (int)(end - tail),
             tail);
    ms_draw_text(out, at, attributes, shown);
}

/* Writes a cell's name and size, as far as there is room. The last part of a name that is too long
 * has a line of its own, below the others, where the cell is high enough. */
static void put_lines(FILE *out, const cell *c, const ms_rectangle *f, const char *size)
{
    const size_t length = strlen(c->name), size_length = strlen(size);
    const char *last = strrchr(c->name, '.');
    const bool is_long = letter_width * (double)length > f->width - 8;
    const bool is_two = is_long && last && f->height >= 3 * LINE_HEIGHT + 4;
    const size_t first = is_two ? (size_t)(last - c->name) : length;
    const struct {
        const char *text;
        size_t length;
    } lines[] = {{c->name, first},
                 {c->name + first + 1, is_two ? length - first - 1 : 0},
                 {size, letter_width * (double)size_length < f->width ? size_length : 0}};
    ms_spot at = {f->x + 4, f->y};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (lines[i].length == 0 || at.y + LINE_HEIGHT + 4 > f->y + f->height)
            continue;
        at.y += LINE_HEIGHT;
        put_label(out, at, f->width - 8, "class=\"on-cell small\"", lines[i].text, lines[i].length);
    }
}

static void draw_cell(FILE *out, const cell *c, uint32_t category, const ms_rectangle *f)
{
    char size[MS_BYTES_TEXT];
    ms_bytes_text(c->bytes, size);
    fputs("<g class=\"tensor\"><title>", out);
    ms_xml_text(out, c->name);
    fprintf(out, ": %s in %" PRIu32 " tensor%s (%s)</title><rect class=\"cell %s\"", size, c->count,
            c->count == 1 ? "" : "s", ms_category_name((ms_category)category),
            ms_json_category((uint8_t)category));
    ms_draw_frame(out, f);
    fputs("/>", out);
    put_lines(out, c, f, size);
    fputs("</g>\n", out);
}

/* Opens the group of a category, with its frame, and its title where there is room. */
static void begin_category(FILE *out, const ms_view *view, uint32_t category, const ms_rectangle *f,
                           bool has_head)
{
    const ms_peak *peak = view->ledger->peak;
    char text[96], size[MS_BYTES_TEXT];
    uint32_t share = ms_permille(peak->category_bytes[category], peak->bytes);
    snprintf(text, sizeof text, "%s %s, %" PRIu32 ".%" PRIu32 " %%",
             ms_category_name((ms_category)category),
             ms_bytes_text(peak->category_bytes[category], size), share / 10, share % 10);
    fprintf(out, "<g class=\"category\" aria-label=\"%s\" data-head=\"%d\">\n", text,
            has_head ? HEAD_HEIGHT : 0);
    fprintf(out, "<rect class=\"cell head %s\"", ms_json_category((uint8_t)category));
    ms_draw_frame(out, f);
    fputs("/>\n", out);
    if (!has_head || f->height < HEAD_HEIGHT)
        return;
    bool fits = bold_letter_width * (double)strlen(text) < f->width - 8;
    const char *shown = fits ? text : ms_category_name((ms_category)category);
    put_label(out, (ms_spot){f->x + 4, f->y + 13}, f->width - 8, "class=\"on-cell strong\"", shown,
              strlen(shown));
}

static bool draw_category(FILE *out, const ms_view *view, uint32_t category, ms_rectangle frame)
{
    cell cells[MOST_CELLS];
    ms_rectangle frames[MOST_CELLS];
    double sizes[MOST_CELLS];
    uint32_t count = cells_of(view, category, cells);
    double head = frame.height > 3 * HEAD_HEIGHT ? HEAD_HEIGHT : 0;
    ms_rectangle body = {frame.x, frame.y + head, frame.width, frame.height - head};
    double whole = (double)view->ledger->peak->category_bytes[category];
    begin_category(out, view, category, &frame, head > 0);
    for (uint32_t i = 0; i < count; i++)
        sizes[i] = (double)cells[i].bytes / whole * body.width * body.height;
    ms_treemap(sizes, count, body, frames);
    for (uint32_t i = 0; i < count; i++)
        draw_cell(out, &cells[i], category, &frames[i]);
    fputs("</g>\n", out);
    return true;
}

/* Categories by their bytes at the peak, largest first; how many there are. */
static uint32_t order_categories(const ms_peak *peak, uint32_t order[MS_CATEGORY_COUNT])
{
    uint32_t count = 0;
    for (uint32_t c = 0; c < MS_CATEGORY_COUNT; c++) {
        if (peak->category_bytes[c] == 0)
            continue;
        uint32_t at = count++;
        for (; at > 0 && peak->category_bytes[order[at - 1]] < peak->category_bytes[c]; at--)
            order[at] = order[at - 1];
        order[at] = c;
    }
    return count;
}

bool ms_picture_composition(FILE *out, const ms_view *view, const ms_picture_shape *shape)
{
    const ms_peak *peak = view->ledger->peak;
    const ms_rectangle frame = {0, 0, shape->width, shape->composition_height};
    uint32_t order[MS_CATEGORY_COUNT], count = order_categories(peak, order);
    double sizes[MS_CATEGORY_COUNT] = {0};
    ms_rectangle frames[MS_CATEGORY_COUNT];
    for (uint32_t i = 0; i < count; i++)
        sizes[i] = (double)peak->category_bytes[order[i]] / (double)peak->bytes * frame.width *
                   frame.height;
    ms_treemap(sizes, count, frame, frames);
    for (uint32_t i = 0; i < count; i++)
        if (!draw_category(out, view, order[i], frames[i]))
            return false;
    return true;
}
