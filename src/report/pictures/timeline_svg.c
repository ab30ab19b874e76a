/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/pictures/timeline_svg.h"

#include <inttypes.h>
#include <string.h>

#include "report/pictures/picture.h"
#include "report/kit/category_id.h"

const ms_picture_shape ms_wide_pictures = {
    "wide-picture", false, 1040, 420, 380, {56, 40, 1040 - 56 - 20, 420 - 40 - 78}};
const ms_picture_shape ms_narrow_pictures = {
    "narrow-picture", true, 362, 300, 420, {40, 40, 362 - 40 - 8, 300 - 40 - 62}};

enum { LAYERS_GAP = 6, LAYERS_HEIGHT = 10, LETTER_WIDTH = 7 };

typedef struct plot {
    FILE *out;
    const ms_view *view;
    const ms_ledger *ledger;
    const ms_picture_shape *shape;
    ms_rectangle frame;
    ms_plot_axis gib;
    uint64_t limit_bytes; /* of what is reserved; 0: none is shown */
} plot;

static double x_of(const plot *p, double ms)
{
    double end = p->ledger->schedule.end_ms;
    return p->frame.x + (end > 0 ? ms / end : 0) * p->frame.width;
}

static double y_of(const plot *p, uint64_t bytes)
{
    double bottom = p->frame.y + p->frame.height;
    return ms_plot_axis_along(&p->gib, ms_draw_gib(bytes), bottom, p->frame.y);
}

static double event_ms(const plot *p, uint32_t event)
{
    uint32_t first = p->ledger->usage->steady_first_event;
    return event < p->ledger->usage->steady_end_event ? p->ledger->schedule.event_ms[event - first]
                                                      : p->ledger->schedule.end_ms;
}

/* ---- phases and layers ---- */

/* The stretch after the last one of the phase that `first` opens. */
static uint32_t phase_end(const ms_profile *profile, uint32_t first)
{
    const ms_profile_span *all = profile->spans.items;
    uint32_t i = first + 1;
    while (i < profile->spans.count && all[i].phase == all[first].phase &&
           all[i].micro_step == all[first].micro_step)
        i++;
    return i;
}

static double begin_ms(const plot *p, uint32_t stretch)
{
    const ms_profile *profile = p->ledger->profile;
    if (stretch >= profile->spans.count)
        return p->ledger->schedule.end_ms;
    return event_ms(p, profile->spans.items[stretch].first_event);
}

static void phase_label(const plot *p, const ms_profile_span *s, char *text, size_t size)
{
    const char *name = ms_phase_name((ms_phase)s->phase);
    bool is_micro = s->phase == MS_PHASE_FORWARD || s->phase == MS_PHASE_BACKWARD;
    if (!is_micro || p->ledger->run->training.accumulate < 2)
        snprintf(text, size, "%s", name);
    else if (s->repeats > 1)
        snprintf(text, size, "%s %" PRIu32 "-%" PRIu32, name, s->micro_step + 1,
                 s->micro_step + s->repeats);
    else
        snprintf(text, size, "%s %" PRIu32, name, s->micro_step + 1);
}

static void draw_phases(const plot *p)
{
    const ms_profile *profile = p->ledger->profile;
    uint32_t number = 0;
    for (uint32_t i = 0; i < profile->spans.count; number++) {
        uint32_t end = phase_end(profile, i);
        double x = x_of(p, begin_ms(p, i)), width = x_of(p, begin_ms(p, end)) - x;
        const ms_rectangle band = {x, p->frame.y - 24, width,
                                   p->frame.height + 24 + LAYERS_GAP + LAYERS_HEIGHT};
        char label[64];
        phase_label(p, &profile->spans.items[i], label, sizeof label);
        fprintf(p->out, "<g><title>%s</title><rect class=\"%s\"", label,
                number % 2 ? "ground" : "band");
        ms_draw_frame(p->out, &band);
        fputs("/>", p->out);
        if (width > LETTER_WIDTH * (double)strlen(label) + 4)
            ms_draw_text(p->out, (ms_spot){x + width / 2, p->frame.y - 9},
                         "text-anchor=\"middle\" class=\"faint\"", label);
        fputs("</g>\n", p->out);
        i = end;
    }
}

static void draw_layers(const plot *p)
{
    const ms_profile *profile = p->ledger->profile;
    for (uint32_t i = 0; i < profile->spans.count; i++) {
        const ms_profile_span *s = &profile->spans.items[i];
        if (s->layer == MS_NONE)
            continue;
        double x = x_of(p, begin_ms(p, i)), width = x_of(p, begin_ms(p, i + 1)) - x;
        const ms_rectangle tick = {x, p->frame.y + p->frame.height + LAYERS_GAP, width,
                                   LAYERS_HEIGHT};
        fprintf(p->out, "<rect class=\"layer%s\"", s->layer % 2 ? " odd" : "");
        ms_draw_frame(p->out, &tick);
        fprintf(p->out, "><title>layer %" PRIu32 ", %s</title></rect>\n", s->layer,
                ms_phase_name((ms_phase)s->phase));
    }
    ms_draw_text(p->out, (ms_spot){p->frame.x - 8, p->frame.y + p->frame.height + LAYERS_GAP + 9},
                 "text-anchor=\"end\" class=\"small faint\"", "layers");
}

/* ---- axes ---- */

static void draw_axes(const plot *p)
{
    const ms_rectangle *f = &p->frame;
    double bottom = f->y + f->height, end_ms = p->ledger->schedule.end_ms;
    bool is_timed = p->ledger->schedule.is_timed;
    double last = is_timed ? end_ms : end_ms * 1e3;
    ms_plot_axis time = ms_plot_axis_around(0, last);
    char text[MS_FIXED_TEXT];
    for (int i = 0; i * p->gib.step <= p->gib.high; i++) {
        double v = i * p->gib.step;
        double y = ms_plot_axis_along(&p->gib, v, bottom, f->y);
        ms_draw_line(p->out, (ms_spot){f->x, y}, (ms_spot){f->x + f->width, y}, "grid");
        ms_draw_text(p->out, (ms_spot){f->x - 8, y + 4}, "text-anchor=\"end\"",
                     ms_fixed(v, ms_plot_axis_decimals(&p->gib), text));
    }
    for (int i = 0; last > 0 && i * time.step <= last; i++) {
        double v = i * time.step;
        double x = f->x + (last > 0 ? v / last : 0) * f->width;
        ms_draw_text(p->out, (ms_spot){x, bottom + LAYERS_GAP + LAYERS_HEIGHT + 18},
                     "text-anchor=\"middle\"", ms_fixed(v, ms_plot_axis_decimals(&time), text));
    }
    ms_draw_text(p->out, (ms_spot){f->x + f->width / 2, bottom + LAYERS_GAP + LAYERS_HEIGHT + 38},
                 "text-anchor=\"middle\" class=\"faint\"",
                 is_timed              ? "predicted time of the step (ms)"
                 : p->shape->is_narrow ? "events of the step"
                                       : "events of the step (the device's rates are not known)");
    ms_draw_text(p->out, (ms_spot){f->x - 8, f->y - 9}, "text-anchor=\"end\" class=\"faint\"",
                 "GiB");
}

/* ---- areas and lines ---- */

static uint64_t stacked(const ms_timeline_point *point, uint32_t categories)
{
    uint64_t sum = 0;
    for (uint32_t c = 0; c < categories; c++)
        sum += point->category_bytes[c];
    return sum;
}

static bool is_there(const ms_ledger *ledger, uint32_t category)
{
    for (uint32_t i = 0; i < ledger->timeline.count; i++)
        if (ledger->timeline.items[i].category_bytes[category])
            return true;
    return false;
}

/* From the axis to the top of the category: those below are drawn over it, later. */
static void draw_area(const plot *p, uint32_t category)
{
    const ms_timeline_point *points = p->ledger->timeline.items;
    uint32_t count = p->ledger->timeline.count;
    double bottom = y_of(p, 0);
    fprintf(p->out, "<path class=\"%s\" d=\"M", ms_json_category((uint8_t)category));
    ms_draw_spot(p->out, (ms_spot){x_of(p, points[0].ms), bottom});
    for (uint32_t i = 0; i < count; i++) {
        fputc(' ', p->out);
        ms_draw_spot(p->out,
                     (ms_spot){x_of(p, points[i].ms), y_of(p, stacked(&points[i], category + 1))});
    }
    fputc(' ', p->out);
    ms_draw_spot(p->out, (ms_spot){x_of(p, points[count - 1].ms), bottom});
    fprintf(p->out, "z\"><title>%s</title></path>\n", ms_category_name((ms_category)category));
}

static void draw_reserved(const plot *p)
{
    const ms_timeline_point *points = p->ledger->timeline.items;
    if (p->ledger->run->allocator.kind == MS_ALLOCATOR_RAW)
        return;
    fputs("<path class=\"reserved\" d=\"M", p->out);
    for (uint32_t i = 0; i < p->ledger->timeline.count; i++) {
        fputc(' ', p->out);
        ms_draw_spot(p->out, (ms_spot){x_of(p, points[i].ms), y_of(p, points[i].reserved_bytes)});
    }
    fputs("\"><title>reserved by the allocator</title></path>\n", p->out);
}

static void draw_limit(const plot *p)
{
    const ms_rectangle *f = &p->frame;
    char text[96], gib[MS_GIB_TEXT];
    if (p->limit_bytes == 0)
        return;
    double y = y_of(p, p->limit_bytes);
    ms_draw_line(p->out, (ms_spot){f->x, y}, (ms_spot){f->x + f->width, y}, "limit");
    snprintf(text, sizeof text, "limit %s GiB%s", ms_gib(p->limit_bytes, gib),
             p->shape->is_narrow ? "" : ": the budget without the CUDA context");
    ms_draw_text(p->out, (ms_spot){f->x + 6, y - 5}, "class=\"limit-text small halo\"", text);
}

static void draw_pin(const plot *p)
{
    const ms_rectangle *f = &p->frame;
    const ms_peak *peak = p->ledger->peak;
    double x = x_of(p, event_ms(p, peak->event)), y = y_of(p, peak->bytes);
    bool is_right = x > f->x + f->width / 2;
    char text[64], gib[MS_GIB_TEXT];
    const char *attributes =
        is_right ? "class=\"strong halo\" text-anchor=\"end\"" : "class=\"strong halo\"";
    ms_draw_line(p->out, (ms_spot){x, y}, (ms_spot){x, f->y + f->height}, "pin");
    fprintf(p->out, "<circle class=\"pin-head\"%s r=\"5\"",
            p->shape->is_narrow ? "" : " id=\"pin\"");
    char a[MS_FIXED_TEXT], b[MS_FIXED_TEXT];
    fprintf(p->out, " cx=\"%s\" cy=\"%s\"/>\n", ms_fixed(x, 1, a), ms_fixed(y, 1, b));
    snprintf(text, sizeof text, "peak %s GiB", ms_gib(peak->bytes, gib));
    ms_draw_text(p->out, (ms_spot){x + (is_right ? -10 : 10), y + 14 + (y < f->y + 8 ? 4 : 0)},
                 attributes, text);
}

/* A limit far above everything would leave the picture empty. */
static plot plot_of(FILE *out, const ms_view *view, const ms_picture_shape *shape)
{
    const ms_summary *s = view->summary;
    uint64_t context_bytes = s->expected_device_bytes - s->reserved_memory_bytes, most = 0;
    plot p = {
        .out = out, .view = view, .ledger = view->ledger, .shape = shape, .frame = shape->plot};
    for (uint32_t i = 0; i < p.ledger->timeline.count; i++) {
        const ms_timeline_point *point = &p.ledger->timeline.items[i];
        most = point->bytes > most ? point->bytes : most;
        most = point->reserved_bytes > most ? point->reserved_bytes : most;
    }
    if (s->budget_bytes > context_bytes && s->budget_bytes - context_bytes < most + most / 2) {
        p.limit_bytes = s->budget_bytes - context_bytes;
        most = p.limit_bytes > most ? p.limit_bytes : most;
    }
    p.gib = ms_plot_axis_around(0, ms_draw_gib(most));
    p.gib.high = 1.07 * ms_draw_gib(most); /* room for a label above what is highest */
    return p;
}

void ms_picture_timeline(FILE *out, const ms_view *view, const ms_picture_shape *shape)
{
    const plot p = plot_of(out, view, shape);
    draw_phases(&p);
    draw_axes(&p);
    for (uint32_t c = MS_CATEGORY_COUNT; c-- > 0;)
        if (is_there(p.ledger, c))
            draw_area(&p, c);
    draw_layers(&p);
    draw_reserved(&p);
    draw_limit(&p);
    draw_pin(&p);
}

const char *ms_timeline_sentence(const ms_view *view)
{
    const ms_summary *s = view->summary;
    char start[MS_GIB_TEXT], peak[MS_GIB_TEXT], reserved[MS_GIB_TEXT];
    return ms_arena_printf(
        view->arena,
        "Memory over one step: %s GiB when it begins, at most %s GiB, in %s%s%s; %s GiB reserved.",
        ms_gib(s->start_bytes, start), ms_gib(s->peak_memory_bytes, peak), s->peak_stage,
        *view->peak_operator ? ", " : "", view->peak_operator,
        ms_gib(s->reserved_memory_bytes, reserved));
}

void ms_picture_legend(FILE *out, const ms_view *view, ms_spot at)
{
    for (uint32_t c = MS_CATEGORY_COUNT; c-- > 0;) {
        if (!is_there(view->ledger, c))
            continue;
        const ms_rectangle box = {at.x, at.y - 10, 11, 11};
        const char *name = ms_category_name((ms_category)c);
        fprintf(out, "<rect class=\"cell %s\"", ms_json_category((uint8_t)c));
        ms_draw_frame(out, &box);
        fputs("/>\n", out);
        ms_draw_text(out, (ms_spot){at.x + 16, at.y}, "", name);
        at.x += 36 + LETTER_WIDTH * (double)strlen(name);
    }
}
