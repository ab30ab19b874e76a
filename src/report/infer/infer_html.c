/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A prediction of inference as a page: bars of the parts by place and phase, the buffers; or the
 * table of several.
 */
#include <inttypes.h>

#include "report/infer/choice_view.h"
#include "report/infer/rows_tree.h"
#include "report/infer/speed_view.h"
#include "report/infer/stored_view.h"
#include "report/kit/html.h"
#include "report/kit/tree/tree_html.h"
#include "report/view/fit_words.h"
#include "report/kit/writer_list.h"

/* Colours are those of categories of a step. */
static const char *const colours[MS_INFER_PARTS] = {
    [MS_INFER_WEIGHTS] = "weight", [MS_INFER_CACHE] = "optimizer_state",
    [MS_INFER_STATE] = "gradient", [MS_INFER_ACTIVATIONS] = "activation",
    [MS_INFER_OUTPUT] = "input",   [MS_INFER_COMPUTE] = "temporary",
    [MS_INFER_POOL] = "buffer",    [MS_INFER_WORKSPACE] = "workspace",
    [MS_INFER_UNUSED] = "cached",  [MS_INFER_CONTEXT] = "context",
};

static ms_fit_verdict tone_of(const ms_infer_view *v)
{
    return ms_reason_verdict(ms_infer_reason(v->input, v->answer));
}

static void write_bar(FILE *out, const ms_infer_view *v, int device, const char *label, int phase)
{
    const ms_infer_result *r = &v->answer->result;
    ms_html_piece pieces[MS_INFER_PARTS + 1];
    size_t count = 0;
    uint64_t whole = ms_infer_total(r, device, (ms_infer_phase)phase).expected;
    bool is_limited = device != MS_INFER_HOST || v->input->device->is_cpu;
    uint64_t budget = is_limited ? v->input->budget_bytes : 0;
    for (int part = 0; part < MS_INFER_PARTS; part++) {
        uint64_t bytes =
            ms_infer_part_total(r, device, (ms_infer_part)part, MS_INFER_IN(phase)).expected;
        if (bytes > 0)
            pieces[count++] = (ms_html_piece){colours[part], ms_infer_part_names[part], bytes};
    }
    if (budget > whole)
        pieces[count++] = (ms_html_piece){"free", "free", budget - whole};
    ms_html_paragraph(out, "", label);
    char size[MS_BYTES_TEXT], told[MS_BYTES_TEXT + 160];
    snprintf(told, sizeof told, "%s: %s", label, ms_bytes_text(whole, size));
    ms_html_bar(out, told, pieces, count, budget > whole ? budget : whole, budget);
}

static bool write_bars(FILE *out, const ms_infer_view *v)
{
    const char *place;
    int device;
    for (uint32_t i = 0; (place = ms_infer_place_at(v, i, &device)) != NULL; i++)
        for (int phase = 0; phase < MS_INFER_PHASES; phase++) {
            const char *label =
                ms_arena_printf(v->arena, "%s, %s", place, ms_infer_phase_names[phase]);
            bool is_there =
                (v->answer->engine->phases & MS_INFER_IN(phase)) &&
                ms_infer_total(&v->answer->result, device, (ms_infer_phase)phase).expected > 0;
            if (label && is_there)
                write_bar(out, v, device, label, phase);
        }
    return !ms_arena_has_failed(v->arena);
}

static void write_buffers(FILE *out, const ms_infer_view *v)
{
    const ms_infer_result *r = &v->answer->result;
    ms_html_table(out, "sortable", "As the engine makes them",
                  "part|place|#bytes|#at least|#at most");
    for (uint32_t i = 0; i < r->buffers.count; i++) {
        const ms_infer_buffer *b = &r->buffers.items[i];
        fputs("<tr><th scope=\"row\">", out);
        ms_xml_text(out, ms_infer_part_names[b->part]);
        fputs("</th>", out);
        ms_html_cell(out, b->place);
        ms_html_bytes_cell(out, b->bytes);
        ms_html_bytes_cell(out, b->low);
        ms_html_bytes_cell(out, b->high);
        fputs("</tr>\n", out);
    }
    ms_html_end_table(out);
}

static bool write_stored(FILE *out, const ms_infer_view *v)
{
    const ms_stored *s = &v->input->stored;
    const char *why = ms_infer_loaded_text(v), *kind;
    if (!why)
        return false;
    ms_html_table(out, "", "Weights in files", "type|#tensors|#bytes");
    for (uint32_t i = 0; (kind = ms_infer_stored_kind(v, i)) != NULL; i++) {
        fputs("<tr><th scope=\"row\">", out);
        ms_xml_text(out, kind);
        fprintf(out, "</th><td class=\"n\">%" PRIu64 "</td>", s->kinds.items[i].tensors);
        ms_html_bytes_cell(out, s->kinds.items[i].bytes);
        fputs("</tr>\n", out);
    }
    ms_html_end_table(out);
    why = ms_arena_printf(v->arena, "Loaded: %s.", why);
    if (why)
        ms_html_paragraph(out, "", why);
    return why != NULL;
}

enum { BARS, BUFFERS, STORED, SECTIONS };

static bool write_section(FILE *out, const void *view, size_t index)
{
    if (index == BARS)
        return write_bars(out, view);
    if (index == STORED)
        return write_stored(out, view);
    write_buffers(out, view);
    return true;
}

/* "device 0 needs most in decode, 0.98 GiB: 512.00 MiB context, 236.08 MiB weights": of the place
 * that needs most, its largest parts. NULL: out of memory. */
static const char *why_of(const ms_infer_view *v)
{
    enum { MOST_PARTS = 4 };
    const ms_infer_result *r = &v->answer->result;
    const char *place, *name = "";
    uint64_t most = 0, before = UINT64_MAX;
    int device, worst = MS_INFER_HOST;
    char size[MS_BYTES_TEXT];
    for (uint32_t i = 0; (place = ms_infer_place_at(v, i, &device)) != NULL; i++) {
        uint64_t bytes = ms_infer_total(r, device, ms_infer_peak(r, device)).expected;
        if (bytes <= most || (device == MS_INFER_HOST && i > 0))
            continue;
        most = bytes;
        worst = device;
        name = place;
    }
    ms_infer_phase phase = ms_infer_peak(r, worst);
    const char *text = ms_arena_printf(v->arena, "%s needs most in %s, %s:", name,
                                       ms_infer_phase_names[phase], ms_bytes_text(most, size));
    for (int shown = 0; text && shown < MOST_PARTS; shown++) {
        uint64_t largest = 0;
        int which = 0;
        for (int part = 0; part < MS_INFER_PARTS; part++) {
            uint64_t bytes =
                ms_infer_part_total(r, worst, (ms_infer_part)part, MS_INFER_IN(phase)).expected;
            if (bytes > largest && bytes < before) {
                largest = bytes;
                which = part;
            }
        }
        if (largest == 0)
            break;
        before = largest;
        text = ms_arena_printf(v->arena, "%s%s %s %s", text, shown ? "," : "",
                               ms_bytes_text(largest, size), ms_infer_part_names[which]);
    }
    return text;
}

static bool write_notes(FILE *out, const ms_infer_view *v)
{
    const char *why = why_of(v);
    if (why)
        ms_html_note(out, ms_fit_why_label, why);
    const char *next = ms_infer_next(v);
    const char *prefill = ms_infer_prefill_text(v), *decode = ms_infer_decode_text(v);
    const char *speed = prefill && decode
                            ? ms_arena_printf(v->arena, "Prefill: %s. Decode: %s.", prefill, decode)
                            : NULL;
    const char *choice = ms_infer_choice_text(v), *range = ms_infer_choice_range(v);
    if (choice && *choice)
        ms_html_paragraph(out, "", choice);
    if (next && *next)
        ms_html_paragraph(out, "", next);
    if (speed)
        ms_html_paragraph(out, "", speed);
    for (uint32_t i = 0; i < v->answer->result.notes.count; i++)
        ms_html_note(out, "Note:", v->answer->result.notes.items[i]);
    if (range && *range)
        ms_html_note(out, "Note:", range);
    return why && next && speed && choice && range;
}

bool ms_infer_html(FILE *out, const ms_infer_view *v)
{
    const ms_html_link links[SECTIONS] = {[BARS] = {"parts", "Parts by place and phase", false},
                                          [BUFFERS] = {"buffers", "Buffers", false},
                                          [STORED] = {"stored", "Weights in files", false}};
    if (v->rows) {
        ms_tree tree = ms_infer_rows_tree(v);
        return ms_tree_html(&tree, out);
    }
    const char *title = ms_infer_title(v), *verdict = ms_infer_verdict(v);
    if (!title || !verdict)
        return false;
    ms_html_begin(out, &(ms_html_head){title, verdict, tone_of(v)});
    return write_notes(out, v) &&
           ms_html_finish(out, links, ms_infer_has_stored(v) ? SECTIONS : STORED, MS_HTML_PREDICTED,
                          v, write_section);
}
