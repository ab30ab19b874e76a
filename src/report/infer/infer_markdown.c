/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A prediction of inference as Markdown.
 */
#include <inttypes.h>

#include "report/infer/choice_view.h"
#include "report/infer/rows_tree.h"
#include "report/infer/speed_view.h"
#include "report/infer/stored_view.h"
#include "report/kit/markdown.h"
#include "report/kit/tree/tree_markdown.h"
#include "report/kit/writer_list.h"
#include "base/text/number.h"

/* In these phases; 0: at the peak of each place. */
static void write_row(FILE *out, const ms_infer_view *v, const char *name, ms_infer_part part,
                      unsigned phases)
{
    int device;
    fprintf(out, "| %s |", name);
    for (uint32_t i = 0; ms_infer_place_at(v, i, &device); i++) {
        char text[MS_GIB_TEXT];
        const ms_infer_result *r = &v->answer->result;
        unsigned seen = phases ? phases : MS_INFER_IN(ms_infer_peak(r, device));
        ms_infer_bytes sum = ms_infer_part_total(r, device, part, seen);
        fprintf(out, " %s |", sum.high == 0 ? "-" : ms_gib(sum.expected, text));
    }
    fputc('\n', out);
}

static void write_table(FILE *out, const ms_infer_view *v, const char *title)
{
    int device;
    const char *name;
    fprintf(out, "\n| %s, GiB |", title);
    for (uint32_t i = 0; (name = ms_infer_place_at(v, i, &device)); i++)
        fprintf(out, " %s |", name);
    fputs("\n|---|", out);
    for (uint32_t i = 0; ms_infer_place_at(v, i, &device); i++)
        fputs("---:|", out);
    fputc('\n', out);
}

static bool write_stored(FILE *out, const ms_infer_view *v)
{
    char gib[MS_GIB_TEXT];
    const ms_stored *s = &v->input->stored;
    const char *what = ms_infer_stored_text(v), *why = ms_infer_loaded_text(v), *kind;
    if (!what || !why)
        return false;
    fprintf(out, "\n| weights, GiB | | |\n|---|---:|---|\n| stored | %s | %s |\n",
            ms_gib(s->checkpoint.tensor_bytes, gib), what);
    for (uint32_t i = 0; (kind = ms_infer_stored_kind(v, i)) != NULL; i++)
        fprintf(out, "| of it %s | %s | %" PRIu64 " tensor%s |\n", kind,
                ms_gib(s->kinds.items[i].bytes, gib), s->kinds.items[i].tensors,
                s->kinds.items[i].tensors == 1 ? "" : "s");
    fprintf(out, "| loaded | %s | ", ms_gib(v->answer->loaded_bytes, gib));
    ms_markdown_text(out, why);
    fputs(" |\n", out);
    return !ms_arena_has_failed(v->arena);
}

static bool write_speed(FILE *out, const ms_infer_view *v)
{
    const char *prefill = ms_infer_prefill_text(v), *decode = ms_infer_decode_text(v);
    if (!prefill || !decode)
        return false;
    fputs("\n| speed | upper bound |\n|---|---|\n| prefill | ", out);
    ms_markdown_text(out, prefill);
    fputs(" |\n| decode | ", out);
    ms_markdown_text(out, decode);
    fputs(" |\n", out);
    return true;
}

bool ms_infer_markdown(FILE *out, const ms_infer_view *v)
{
    if (v->rows) {
        ms_tree tree = ms_infer_rows_tree(v);
        return ms_tree_markdown(&tree, out);
    }
    const char *title = ms_infer_title(v), *verdict = ms_infer_verdict(v), *next = ms_infer_next(v);
    const char *choice = ms_infer_choice_text(v), *range = ms_infer_choice_range(v);
    if (!title || !verdict || !next || !choice || !range)
        return false;
    ms_markdown_title(out, "memscope infer", verdict, title);
    if (*choice) {
        fputc('\n', out);
        ms_markdown_text(out, choice);
    }
    fprintf(out, "\n%s%s", next, *next ? "\n" : "");
    write_table(out, v, "part");
    for (int part = 0; part < MS_INFER_PARTS; part++)
        if (ms_infer_has_part(v, (ms_infer_part)part))
            write_row(out, v, ms_infer_part_names[part], (ms_infer_part)part, 0);
    write_table(out, v, "phase");
    for (int phase = 0; phase < MS_INFER_PHASES; phase++)
        if (v->answer->engine->phases & MS_INFER_IN(phase))
            write_row(out, v, ms_infer_phase_names[phase], MS_INFER_PARTS, MS_INFER_IN(phase));
    if (!write_speed(out, v) || (ms_infer_has_stored(v) && !write_stored(out, v)))
        return false;
    for (uint32_t i = 0; i < v->answer->result.notes.count; i++)
        ms_markdown_note(out, "note", v->answer->result.notes.items[i]);
    if (*range)
        ms_markdown_note(out, "note", range);
    return !ms_arena_has_failed(v->arena);
}
