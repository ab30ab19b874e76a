/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A prediction of inference as console text.
 */
#include <inttypes.h>
#include <string.h>

#include "report/infer/choice_view.h"
#include "report/infer/rows_tree.h"
#include "report/infer/speed_view.h"
#include "report/infer/stored_view.h"
#include "report/kit/tree/tree_console.h"
#include "report/kit/writer_list.h"
#include "base/text/number.h"

enum { MOST_COLUMNS = 5, NAME_COLUMNS = 14, FIGURE_COLUMNS = 11 }; /* places side by side */

static void write_head(const ms_page *p, const ms_infer_groups *c)
{
    fprintf(p->out, "  %s%-12s", ms_page_tone(p, MS_TONE_DIM), "");
    for (uint32_t i = 0; i < c->count; i++)
        fprintf(p->out, " %10s", c->items[i].name);
    fprintf(p->out, "%s\n", ms_page_tone(p, MS_TONE_END));
}

/* In these phases; 0: at the peak of each place. */
static void write_cells(const ms_page *p, const ms_infer_view *v, const ms_infer_groups *c,
                        ms_infer_part part, unsigned phases)
{
    for (uint32_t i = 0; i < c->count; i++) {
        char text[MS_GIB_TEXT];
        const ms_infer_result *r = &v->answer->result;
        int device = c->items[i].device;
        unsigned seen = phases ? phases : MS_INFER_IN(ms_infer_peak(r, device));
        ms_infer_bytes sum = ms_infer_part_total(r, device, part, seen);
        fprintf(p->out, " %10s", sum.high == 0 ? "-" : ms_gib(sum.expected, text));
    }
    fputc('\n', p->out);
}

static void write_parts(const ms_page *p, const ms_infer_view *v, const ms_infer_groups *c)
{
    write_head(p, c);
    for (int part = 0; part < MS_INFER_PARTS; part++) {
        if (!ms_infer_has_part(v, (ms_infer_part)part))
            continue;
        fprintf(p->out, "  %-12s", ms_infer_part_names[part]);
        write_cells(p, v, c, (ms_infer_part)part, 0);
    }
}

static void write_phases(const ms_page *p, const ms_infer_view *v, const ms_infer_groups *c)
{
    write_head(p, c);
    for (int phase = 0; phase < MS_INFER_PHASES; phase++) {
        if (!(v->answer->engine->phases & MS_INFER_IN(phase)))
            continue;
        fprintf(p->out, "  %-12s", ms_infer_phase_names[phase]);
        write_cells(p, v, c, MS_INFER_PARTS, MS_INFER_IN(phase));
    }
}

/* A table of all places, so many at a time. */
static void write_places(const ms_page *p, const ms_infer_view *v, const ms_infer_groups *all,
                         void (*write)(const ms_page *, const ms_infer_view *,
                                       const ms_infer_groups *))
{
    const uint32_t room = (p->columns - NAME_COLUMNS) / FIGURE_COLUMNS;
    const uint32_t most = room < MOST_COLUMNS ? room : MOST_COLUMNS;
    for (uint32_t first = 0; first < all->count; first += most) {
        uint32_t left = all->count - first;
        const ms_infer_groups columns = {all->items + first, left < most ? left : most};
        if (first > 0)
            fputc('\n', p->out);
        write(p, v, &columns);
    }
}

static bool write_speed(const ms_page *p, const ms_infer_view *v)
{
    const char *prefill = ms_infer_prefill_text(v), *decode = ms_infer_decode_text(v);
    if (!prefill || !decode)
        return false;
    ms_page_heading(p, "Speed", "  (upper bounds)");
    fprintf(p->out, "  %-12s", "prefill");
    ms_page_rest(p, NAME_COLUMNS, prefill);
    fprintf(p->out, "  %-12s", "decode");
    ms_page_rest(p, NAME_COLUMNS, decode);
    return true;
}

/* Stored bytes in all and by type; loaded bytes, and why they differ. */
static bool write_stored(const ms_page *p, const ms_infer_view *v)
{
    char gib[MS_GIB_TEXT];
    const ms_stored *s = &v->input->stored;
    const char *what = ms_infer_stored_text(v), *why = ms_infer_loaded_text(v), *kind;
    if (!what || !why)
        return false;
    ms_page_heading(p, "Weights", "  (GiB)");
    fprintf(p->out, "  %-15s %7s  %s\n", "stored", ms_gib(s->checkpoint.tensor_bytes, gib), what);
    for (uint32_t i = 0; (kind = ms_infer_stored_kind(v, i)) != NULL; i++)
        fprintf(p->out, "    %-13s %7s  %" PRIu64 " tensor%s\n", kind,
                ms_gib(s->kinds.items[i].bytes, gib), s->kinds.items[i].tensors,
                s->kinds.items[i].tensors == 1 ? "" : "s");
    fprintf(p->out, "  %-15s %7s\n", "loaded", ms_gib(v->answer->loaded_bytes, gib));
    ms_page_paragraph(p, why);
    return !ms_arena_has_failed(v->arena);
}

enum { NAME_WIDTH = 12, GROUP_WIDTH = 11, BYTES_WIDTH = 15, REMARK_TEXT = 256 };
enum { BYTES_COLUMNS = 2 + 2 * (NAME_WIDTH + 1) + BYTES_WIDTH };

static void add_words(char remark[REMARK_TEXT], const char *words)
{
    size_t length = strlen(remark);
    snprintf(remark + length, REMARK_TEXT - length, "%s", words);
}

/* " 4096 cells in 32 layers, 1 to 2, in decode": the last where it is not there all the time. */
static void put_remark(const ms_infer_buffer *b, unsigned all, char remark[REMARK_TEXT])
{
    unsigned phases = b->phases & all;
    const char *before = " in ";
    char words[64];
    *remark = '\0';
    if (b->cells) {
        snprintf(words, sizeof words, " %" PRIu64 " cells in %" PRIu64 " layers", b->cells,
                 b->layers);
        add_words(remark, words);
    }
    if (b->low != b->high) {
        snprintf(words, sizeof words, "%s %" PRIu64 " to %" PRIu64, *remark ? "," : "", b->low,
                 b->high);
        add_words(remark, words);
    }
    for (int phase = 0; phase < MS_INFER_PHASES && phases != all; phase++) {
        if (!(phases & MS_INFER_IN(phase)))
            continue;
        add_words(remark, *remark && *before == ' ' ? "," : "");
        add_words(remark, before);
        add_words(remark, ms_infer_phase_names[phase]);
        before = ", ";
    }
}

/* The group that a device begins; NULL where an earlier one does. */
static const ms_infer_group *group_of(const ms_infer_groups *groups, int device)
{
    for (uint32_t i = 0; i < groups->count; i++)
        if (groups->items[i].device == device)
            return &groups->items[i];
    return NULL;
}

static void write_buffers(const ms_page *p, const ms_infer_view *v, const ms_infer_groups *groups)
{
    const ms_infer_result *r = &v->answer->result;
    char remark[REMARK_TEXT];
    const uint32_t columns = BYTES_COLUMNS + (r->devices > 1 ? GROUP_WIDTH + 1 : 0);
    const int narrow = columns > p->columns; /* the columns stand closer */
    ms_page_heading(p, "Buffers", r->devices > 1 ? "  (bytes of each)" : "  (bytes)");
    for (uint32_t i = 0; i < r->buffers.count; i++) {
        const ms_infer_buffer *b = &r->buffers.items[i];
        const ms_infer_group *group = group_of(groups, b->device);
        if (!group)
            continue;
        fprintf(p->out, "  %-*s %-*s ", NAME_WIDTH - narrow, ms_infer_part_names[b->part],
                NAME_WIDTH - narrow, b->place);
        if (r->devices > 1)
            fprintf(p->out, "%-*s ", GROUP_WIDTH - narrow, group->name);
        fprintf(p->out, "%*" PRIu64, BYTES_WIDTH - 3 * narrow, b->bytes);
        put_remark(b, v->answer->engine->phases, remark);
        ms_page_rest(p, columns - 6 * (uint32_t)narrow, remark);
    }
}

bool ms_infer_console(FILE *out, const ms_infer_view *v)
{
    if (v->rows) {
        ms_tree tree = ms_infer_rows_tree(v);
        return ms_tree_console(&tree, out, v->style);
    }
    const ms_page page = ms_page_begin(out, v->style);
    const char *title = ms_infer_title(v), *verdict = ms_infer_verdict(v), *next = ms_infer_next(v);
    const char *choice = ms_infer_choice_text(v), *range = ms_infer_choice_range(v);
    const ms_infer_groups groups = ms_infer_groups_of(v);
    if (!title || !verdict || !next || !choice || !range || !groups.items)
        return false;
    ms_page_title(&page, title, v->answer->fits ? MS_TONE_GOOD : MS_TONE_BAD, verdict);
    if (*choice)
        ms_page_paragraph(&page, choice);
    if (*next)
        ms_page_paragraph(&page, next);
    ms_page_heading(&page, "Parts", "  (GiB)");
    write_places(&page, v, &groups, write_parts);
    ms_page_heading(&page, "Phases", "  (GiB, all parts together)");
    write_places(&page, v, &groups, write_phases);
    if (!write_speed(&page, v))
        return false;
    if (ms_infer_has_stored(v) && !write_stored(&page, v))
        return false;
    write_buffers(&page, v, &groups);
    for (uint32_t i = 0; i < v->answer->result.notes.count; i++)
        ms_page_note(&page, "note:", v->answer->result.notes.items[i]);
    if (*range)
        ms_page_note(&page, "note:", range);
    return !ms_arena_has_failed(v->arena);
}
