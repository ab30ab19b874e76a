/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory over the step as a text chart: each column shows the maximum of a time interval.
 */
#include "report/pictures/chart.h"

#include <string.h>

enum { ROWS = 12, LABEL_WIDTH = 9, MOST_COLUMNS = 120 };

/* What looks alike: what stays, what backward waits for, what comes and goes. */
typedef enum group { GROUP_STAYS, GROUP_SAVED, GROUP_PASSES, GROUP_COUNT } group;

static const struct {
    const char *unicode, *ascii, *title;
} groups[GROUP_COUNT] = {
    [GROUP_STAYS] = {"\xe2\x96\x88", "#", "weights, gradients, optimizer states"},
    [GROUP_SAVED] = {"\xe2\x96\x92", "+", "saved activations"},
    [GROUP_PASSES] = {"\xe2\x96\x91", ".", "temporaries"},
};

static group group_of(uint32_t category)
{
    switch ((ms_category)category) {
    case MS_CATEGORY_ACTIVATION:
    case MS_CATEGORY_INPUT:
        return GROUP_SAVED;
    case MS_CATEGORY_TEMPORARY:
    case MS_CATEGORY_WORKSPACE:
        return GROUP_PASSES;
    case MS_CATEGORY_WEIGHT:
    case MS_CATEGORY_BUFFER:
    case MS_CATEGORY_GRADIENT:
    case MS_CATEGORY_OPTIMIZER_STATE:
    case MS_CATEGORY_COUNT:
        break;
    }
    return GROUP_STAYS;
}

typedef struct chart {
    const ms_page *page;
    const ms_ledger *ledger;
    uint32_t width;
    const ms_timeline_point *columns[MOST_COLUMNS]; /* the highest of each */
    uint64_t most_bytes;
} chart;

static uint32_t column_of(const chart *c, double ms)
{
    double end_ms = c->ledger->schedule.end_ms;
    uint32_t column = end_ms > 0 ? (uint32_t)(ms / end_ms * c->width) : 0;
    return column < c->width ? column : c->width - 1;
}

/* A column without a point shows what was there before it. */
static void fill_columns(chart *c)
{
    const ms_timeline_point *last = &c->ledger->timeline.items[0];
    for (uint32_t i = 0; i < c->ledger->timeline.count; i++) {
        const ms_timeline_point *p = &c->ledger->timeline.items[i];
        const ms_timeline_point **at = &c->columns[column_of(c, p->ms)];
        if (!*at || p->bytes > (*at)->bytes)
            *at = p;
        c->most_bytes = p->bytes > c->most_bytes ? p->bytes : c->most_bytes;
    }
    for (uint32_t i = 0; i < c->width; i++) {
        if (!c->columns[i])
            c->columns[i] = last;
        last = c->columns[i];
    }
}

/* The letter of a cell that begins at that many bytes. */
static const char *letter_at(const chart *c, const ms_timeline_point *p, uint64_t bytes)
{
    uint64_t sum = 0;
    for (uint32_t g = 0; g < GROUP_COUNT; g++) {
        for (uint32_t category = 0; category < MS_CATEGORY_COUNT; category++)
            if (group_of(category) == (group)g)
                sum += p->category_bytes[category];
        if (sum > bytes)
            return c->page->unicode ? groups[g].unicode : groups[g].ascii;
    }
    return " ";
}

static void write_row(const chart *c, uint32_t row)
{
    uint64_t step = c->most_bytes / ROWS + (c->most_bytes % ROWS != 0);
    uint64_t bytes = step * row + step / 2;
    char gib[MS_GIB_TEXT] = "";
    if (row == ROWS - 1)
        ms_gib(c->most_bytes, gib);
    else if (row == ROWS / 2 - 1)
        ms_gib(c->most_bytes / 2, gib);
    fprintf(c->page->out, "%*s %s", LABEL_WIDTH, gib, c->page->unicode ? "\xe2\x94\x82" : "|");
    for (uint32_t i = 0; i < c->width; i++)
        fputs(letter_at(c, c->columns[i], bytes), c->page->out);
    fputc('\n', c->page->out);
}

static void write_axis(const chart *c)
{
    const ms_ledger *ledger = c->ledger;
    uint32_t first = ledger->usage->steady_first_event;
    uint32_t peak = column_of(c, ledger->schedule.event_ms[ledger->peak->event - first]);
    bool unicode = c->page->unicode;
    fprintf(c->page->out, "%*s %s", LABEL_WIDTH, "0", unicode ? "\xe2\x94\x94" : "+");
    for (uint32_t i = 0; i < c->width; i++)
        fputs(i == peak ? (unicode ? "\xe2\x96\xb2" : "^")
              : unicode ? "\xe2\x94\x80"
                        : "-",
              c->page->out);
    fputc('\n', c->page->out);
}

/* The name of each phase where it begins, if there is room. */
static void write_phases(const chart *c)
{
    const ms_profile *profile = c->ledger->profile;
    uint32_t first = c->ledger->usage->steady_first_event, at = 0;
    fprintf(c->page->out, "%*s", LABEL_WIDTH + 2, "");
    for (uint32_t i = 0; i < profile->spans.count; i++) {
        const ms_profile_span *s = &profile->spans.items[i];
        if (i && s[-1].phase == s->phase && s[-1].micro_step == s->micro_step)
            continue;
        uint32_t column = column_of(c, c->ledger->schedule.event_ms[s->first_event - first]);
        const char *name = ms_phase_name((ms_phase)s->phase);
        uint32_t length = (uint32_t)strlen(name);
        if (column < at || column + length > c->width)
            continue;
        fprintf(c->page->out, "%*s%s ", (int)(column - at), "", name);
        at = column + length + 1;
    }
    fputc('\n', c->page->out);
}

static void write_key(const chart *c)
{
    char text[160];
    const ms_page *p = c->page;
    int length = snprintf(text, sizeof text, "%s the peak", p->unicode ? "\xe2\x96\xb2" : "^");
    for (uint32_t g = 0; g < GROUP_COUNT; g++)
        length += snprintf(text + length, sizeof text - (size_t)length, ", %s %s",
                           p->unicode ? groups[g].unicode : groups[g].ascii, groups[g].title);
    ms_page_paragraph(p, text);
}

void ms_chart(const ms_page *page, const ms_view *view)
{
    chart c = {.page = page, .ledger = view->ledger, .width = page->columns - LABEL_WIDTH - 2};
    c.width = c.width < MOST_COLUMNS ? c.width : MOST_COLUMNS;
    if (c.ledger->timeline.count == 0)
        return;
    fill_columns(&c);
    ms_page_heading(page, "Over the step",
                    c.ledger->schedule.is_timed ? "  (GiB by predicted time)"
                                                : "  (GiB by events)");
    for (uint32_t row = ROWS; row-- > 0;)
        write_row(&c, row);
    write_axis(&c);
    write_phases(&c);
    write_key(&c);
}
