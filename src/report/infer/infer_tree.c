/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A prediction of inference for people: the verdict, parts and phases of each place, bounds of
 * speed, what files store, and the buffers; or the table of several predictions.
 */
#include <inttypes.h>
#include <string.h>

#include "report/infer/choice_view.h"
#include "report/infer/rows_tree.h"
#include "report/infer/speed_view.h"
#include "report/infer/stored_view.h"
#include "report/kit/tree/tree_writers.h"
#include "report/kit/writer_list.h"
#include "report/view/fit_words.h"
#include "base/text/number.h"

enum { CONSOLE_AND_PAGE = MS_ON_CONSOLE | MS_ON_PAGE };

/* ---- parts and phases by place ---- */

/* A table with a column for each group of devices; `what`: of which its rows are. */
static ms_tree_table *begin_places(const ms_infer_view *v, ms_tree *tree,
                                   const ms_infer_groups *groups, const char *what)
{
    enum { MOST_ASIDE = 5 };
    ms_tree_column *columns = ms_arena_array(v->arena, ms_tree_column, 1 + groups->count);
    if (!columns)
        return NULL;
    columns[0] =
        (ms_tree_column){.head = "", .before = 2, .width = 12, .wide_head = what, .unit = "GiB"};
    for (uint32_t i = 0; i < groups->count; i++)
        columns[1 + i] = (ms_tree_column){
            .head = groups->items[i].name, .before = 1, .width = 10, .is_figure = true};
    ms_tree_table *table = ms_tree_begin_table(tree, MS_OFF_PAGE, "", columns, 1 + groups->count);
    if (table) {
        table->is_fixed = table->has_dim_head = true;
        table->most_aside = MOST_ASIDE;
    }
    return table;
}

/* In these phases; 0: at the peak of each place. */
static void add_row(const ms_infer_view *v, ms_tree *tree, ms_tree_table *table,
                    const ms_infer_groups *groups, const char *name, ms_infer_part part,
                    unsigned phases)
{
    const ms_infer_result *r = &v->answer->result;
    ms_tree_cell(tree, table, ms_cell_text(name));
    for (uint32_t i = 0; i < groups->count; i++) {
        const int device = groups->items[i].device;
        const unsigned seen = phases ? phases : MS_INFER_IN(ms_infer_peak(r, device));
        const ms_infer_bytes sum = ms_infer_part_total(r, device, part, seen);
        ms_tree_cell(tree, table, sum.high ? ms_cell_gib(sum.expected) : ms_cell_text("-"));
    }
}

static bool has_phase(const ms_infer_view *v, int phase)
{
    return (v->answer->engine->phases & MS_INFER_IN(phase)) != 0;
}

static void add_places(const ms_infer_view *v, ms_tree *tree, const ms_infer_groups *groups)
{
    ms_tree_section(tree, MS_ON_CONSOLE, "", "Parts", "GiB");
    ms_tree_table *table = begin_places(v, tree, groups, "part");
    for (int part = 0; part < MS_INFER_PARTS; part++)
        if (ms_infer_has_part(v, (ms_infer_part)part))
            add_row(v, tree, table, groups, ms_infer_part_names[part], (ms_infer_part)part, 0);
    ms_tree_section(tree, MS_ON_CONSOLE, "", "Phases", "GiB, all parts together");
    table = begin_places(v, tree, groups, "phase");
    for (int phase = 0; phase < MS_INFER_PHASES; phase++)
        if (has_phase(v, phase))
            add_row(v, tree, table, groups, ms_infer_phase_names[phase], MS_INFER_PARTS,
                    MS_INFER_IN(phase));
}

/* ---- the same as bars ---- */

/* Colours are those of categories of a step. */
static const char *const colours[MS_INFER_PARTS] = {
    [MS_INFER_WEIGHTS] = "weight", [MS_INFER_CACHE] = "optimizer_state",
    [MS_INFER_STATE] = "gradient", [MS_INFER_ACTIVATIONS] = "activation",
    [MS_INFER_OUTPUT] = "input",   [MS_INFER_COMPUTE] = "temporary",
    [MS_INFER_POOL] = "buffer",    [MS_INFER_WORKSPACE] = "workspace",
    [MS_INFER_UNUSED] = "cached",  [MS_INFER_CONTEXT] = "context",
};

static void add_bar(const ms_infer_view *v, ms_tree *tree, const ms_infer_group *group, int phase)
{
    char size[MS_BYTES_TEXT];
    const ms_infer_result *r = &v->answer->result;
    const uint64_t whole = ms_infer_total(r, group->device, (ms_infer_phase)phase).expected;
    const bool is_limited = group->device != MS_INFER_HOST || v->input->device->is_cpu;
    const uint64_t budget = is_limited ? v->input->budget_bytes : 0;
    const char *label = ms_tree_text(tree, "%s, %s", group->name, ms_infer_phase_names[phase]);
    if (whole == 0)
        return;
    ms_tree_paragraph(tree, MS_ON_PAGE, label);
    ms_tree_bar *bar = ms_tree_begin_bar(
        tree, ms_tree_text(tree, "%s: %s", label ? label : "", ms_bytes_text(whole, size)),
        budget > whole ? budget : whole, budget);
    for (int part = 0; part < MS_INFER_PARTS; part++)
        ms_tree_piece(tree, bar, colours[part], ms_infer_part_names[part],
                      ms_infer_part_total(r, group->device, (ms_infer_part)part, MS_INFER_IN(phase))
                          .expected);
    ms_tree_piece(tree, bar, "free", "free", budget > whole ? budget - whole : 0);
}

static void add_bars(const ms_infer_view *v, ms_tree *tree, const ms_infer_groups *groups)
{
    ms_tree_section(tree, MS_ON_PAGE, "parts", "Parts by place and phase", "");
    for (uint32_t i = 0; i < groups->count; i++)
        for (int phase = 0; phase < MS_INFER_PHASES; phase++)
            if (has_phase(v, phase))
                add_bar(v, tree, &groups->items[i], phase);
}

/* ---- speed and files ---- */

static void add_speed(const ms_infer_view *v, ms_tree *tree)
{
    static const ms_tree_column columns[] = {
        {.head = "", .before = 2, .width = 12, .wide_head = "speed"},
        {.head = "", .before = 1, .is_wrapped = true, .wide_head = "upper bound"}};
    ms_tree_section(tree, CONSOLE_AND_PAGE, "speed", "Speed", "upper bounds");
    ms_tree_table *table =
        ms_tree_begin_table(tree, MS_ON_ALL, "Upper bounds in tokens per second", columns, 2);
    if (table)
        table->is_fixed = table->has_no_head = true;
    ms_tree_cell(tree, table, ms_cell_text("prefill"));
    ms_tree_cell(tree, table, ms_cell_text(ms_infer_prefill_text(v)));
    ms_tree_cell(tree, table, ms_cell_text("decode"));
    ms_tree_cell(tree, table, ms_cell_text(ms_infer_decode_text(v)));
}

static void stored_row(ms_tree *tree, ms_tree_table *table, const char *name, uint64_t bytes,
                       const char *what)
{
    ms_tree_cell(tree, table, ms_cell_text(name));
    ms_tree_cell(tree, table, ms_cell_gib(bytes));
    ms_tree_cell(tree, table, ms_cell_text(what));
}

/* Stored bytes in all and by type; loaded bytes, and why they differ. */
static void add_stored(const ms_infer_view *v, ms_tree *tree)
{
    static const ms_tree_column columns[] = {
        {.head = "", .before = 2, .width = 15, .wide_head = "weights"},
        {.head = "",
         .before = 1,
         .width = 7,
         .is_figure = true,
         .wide_head = "size",
         .unit = "GiB"},
        {.head = "", .before = 2, .is_wrapped = true, .wide_head = "what"}};
    const ms_stored *s = &v->input->stored;
    const char *kind;
    ms_tree_section(tree, CONSOLE_AND_PAGE, "stored", "Weights", "GiB");
    ms_tree_table *table =
        ms_tree_begin_table(tree, MS_ON_ALL, "In files and when loaded", columns, 3);
    if (table)
        table->is_fixed = table->has_no_head = true;
    stored_row(tree, table, "stored", s->checkpoint.tensor_bytes, ms_infer_stored_text(v));
    for (uint32_t i = 0; (kind = ms_infer_stored_kind(v, i)) != NULL; i++)
        stored_row(tree, table, ms_tree_text(tree, "of it %s", kind), s->kinds.items[i].bytes,
                   ms_tree_text(tree, "%" PRIu64 " tensor%s", s->kinds.items[i].tensors,
                                s->kinds.items[i].tensors == 1 ? "" : "s"));
    stored_row(tree, table, "loaded", v->answer->loaded_bytes, ms_infer_loaded_text(v));
}

/* ---- buffers ---- */

enum { REMARK_TEXT = 256 };

static void add_words(char remark[REMARK_TEXT], const char *before, const char *words)
{
    size_t length = strlen(remark);
    snprintf(remark + length, REMARK_TEXT - length, "%s%s", *remark ? before : "", words);
}

/* "4096 cells in 32 layers, 1 to 2, in decode": the last where it is not there all the time. */
static void put_remark(const ms_infer_buffer *b, unsigned all, char remark[REMARK_TEXT])
{
    const unsigned phases = b->phases & all;
    char words[64];
    *remark = '\0';
    if (b->cells) {
        snprintf(words, sizeof words, "%" PRIu64 " cells in %" PRIu64 " layers", b->cells,
                 b->layers);
        add_words(remark, "", words);
    }
    if (b->low != b->high) {
        snprintf(words, sizeof words, "%" PRIu64 " to %" PRIu64, b->low, b->high);
        add_words(remark, ", ", words);
    }
    bool is_first = true;
    for (int phase = 0; phase < MS_INFER_PHASES && phases != all; phase++) {
        if (!(phases & MS_INFER_IN(phase)))
            continue;
        snprintf(words, sizeof words, "%s%s", is_first ? "in " : "", ms_infer_phase_names[phase]);
        add_words(remark, ", ", words);
        is_first = false;
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

static void add_buffers(const ms_infer_view *v, ms_tree *tree, const ms_infer_groups *groups)
{
    enum { GROUP = 2, COLUMNS = 7 };
    static const ms_tree_column all[COLUMNS] = {
        {.head = "", .before = 2, .width = 12, .narrow = 11, .wide_head = "part"},
        {.head = "", .before = 1, .width = 12, .narrow = 11, .wide_head = "place"},
        {.head = "", .before = 1, .width = 11, .narrow = 10, .wide_head = "of each of"},
        {.head = "",
         .before = 1,
         .width = 15,
         .narrow = 12,
         .is_figure = true,
         .wide_head = "bytes"},
        {.head = "at least", .is_figure = true, .off = MS_OFF_PAGE},
        {.head = "at most", .is_figure = true, .off = MS_OFF_PAGE},
        {.head = "", .before = 2, .is_wrapped = true, .off = MS_ON_PAGE}};
    ms_tree_column *columns = ms_arena_array(v->arena, ms_tree_column, COLUMNS);
    const ms_infer_result *r = &v->answer->result;
    const bool has_several = r->devices > 1;
    char remark[REMARK_TEXT];
    ms_tree_section(tree, CONSOLE_AND_PAGE, "buffers", "Buffers",
                    has_several ? "bytes of each" : "bytes");
    if (!columns)
        return;
    memcpy(columns, all, sizeof all);
    columns[GROUP].off = has_several ? 0 : MS_ON_ALL;
    ms_tree_table *table = ms_tree_begin_table(tree, CONSOLE_AND_PAGE,
                                               "As the engine allocates them", columns, COLUMNS);
    if (table)
        table->is_fixed = table->has_no_head = table->is_sortable = true;
    for (uint32_t i = 0; i < r->buffers.count; i++) {
        const ms_infer_buffer *b = &r->buffers.items[i];
        const ms_infer_group *group = group_of(groups, b->device);
        if (!group)
            continue;
        put_remark(b, v->answer->engine->phases, remark);
        ms_tree_cell(tree, table, ms_cell_text(ms_infer_part_names[b->part]));
        ms_tree_cell(tree, table, ms_cell_text(b->place));
        ms_tree_cell(tree, table, ms_cell_text(group->name));
        ms_tree_cell(tree, table, ms_cell_exact(b->bytes));
        ms_tree_cell(tree, table, ms_cell_exact(b->low));
        ms_tree_cell(tree, table, ms_cell_exact(b->high));
        ms_tree_cell(tree, table, ms_cell_text(remark));
    }
}

/* ---- the answer ---- */

/* The group of devices that needs most; of the host where there is no other. */
static const ms_infer_group *worst_of(const ms_infer_result *r, const ms_infer_groups *groups,
                                      uint64_t *most)
{
    const ms_infer_group *worst = NULL;
    *most = 0;
    for (uint32_t i = 0; i < groups->count; i++) {
        const int device = groups->items[i].device;
        const uint64_t bytes = ms_infer_total(r, device, ms_infer_peak(r, device)).expected;
        if (worst && (bytes <= *most || device == MS_INFER_HOST))
            continue;
        worst = &groups->items[i];
        *most = bytes;
    }
    return worst;
}

/* "device 0 needs most in decode, 0.98 GiB: 512.00 MiB context, 236.08 MiB weights": of the place
 * that needs most, its largest parts. NULL: out of memory. */
static const char *why_of(const ms_infer_view *v, ms_tree *tree, const ms_infer_groups *groups)
{
    enum { MOST_PARTS = 4 };
    const ms_infer_result *r = &v->answer->result;
    uint64_t most, before = UINT64_MAX;
    char size[MS_BYTES_TEXT];
    const ms_infer_group *worst = worst_of(r, groups, &most);
    const ms_infer_phase phase = ms_infer_peak(r, worst->device);
    const char *name = worst->device == MS_INFER_HOST
                           ? worst->name
                           : ms_tree_text(tree, "device %d", worst->device);
    const char *text = ms_tree_text(tree, "%s needs the most in %s, %s:", name ? name : "",
                                    ms_infer_phase_names[phase], ms_bytes_text(most, size));
    for (int shown = 0; text && shown < MOST_PARTS; shown++) {
        uint64_t largest = 0;
        int which = 0;
        for (int part = 0; part < MS_INFER_PARTS; part++) {
            const uint64_t bytes =
                ms_infer_part_total(r, worst->device, (ms_infer_part)part, MS_INFER_IN(phase))
                    .expected;
            if (bytes > largest && bytes < before) {
                largest = bytes;
                which = part;
            }
        }
        if (largest == 0)
            break;
        before = largest;
        text = ms_tree_text(tree, "%s%s %s %s", text, shown ? "," : "",
                            ms_bytes_text(largest, size), ms_infer_part_names[which]);
    }
    return text;
}

static void add_notes(const ms_infer_view *v, ms_tree *tree, unsigned where)
{
    for (uint32_t i = 0; i < v->answer->result.notes.count; i++)
        ms_tree_note(tree, where, "note:", v->answer->result.notes.items[i]);
    ms_tree_note(tree, where, "note:", ms_infer_choice_range(v));
}

static ms_tree build(const ms_infer_view *v)
{
    if (v->rows)
        return ms_infer_rows_tree(v);
    ms_tree tree = ms_tree_begin(v->arena);
    const char *title = ms_infer_title(v), *verdict = ms_infer_verdict(v);
    const ms_infer_groups groups = ms_infer_groups_of(v);
    if (!groups.items) {
        tree.has_failed = true;
        return tree;
    }
    ms_tree_head(&tree, "memscope infer", title, verdict,
                 ms_reason_verdict(ms_infer_reason(v->input, v->answer)));
    ms_tree_line(&tree, MS_ON_CONSOLE, title);
    ms_tree_answer(&tree, v->answer->fits ? MS_TONE_GOOD : MS_TONE_BAD, verdict);
    ms_tree_note(&tree, MS_ON_PAGE, ms_fit_why_label, why_of(v, &tree, &groups));
    ms_tree_paragraph(&tree, MS_ON_ALL, ms_infer_choice_text(v));
    ms_tree_paragraph(&tree, MS_ON_ALL, ms_infer_next(v));
    add_notes(v, &tree, MS_ON_PAGE);
    add_places(v, &tree, &groups);
    add_bars(v, &tree, &groups);
    add_speed(v, &tree);
    if (ms_infer_has_stored(v))
        add_stored(v, &tree);
    add_buffers(v, &tree, &groups);
    add_notes(v, &tree, MS_OFF_PAGE);
    return tree;
}

MS_TREE_WRITERS(ms_infer, ms_infer_view, build, v->style)
