/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/others/fit_report.h"

#include <inttypes.h>

#include "base/locale.h"
#include "input/config/model/model_config.h"
#include "input/config/resolve/resolve_images.h"
#include "base/text/size.h"
#include "report/view/inputs.h"
#include "report/kit/tree/tree_writers.h"
#include "report/kit/writer_list.h"
#include "report/view/fit_words.h"
#include "report/view/view.h"
#include "base/text/number.h"
#include "core/trace/trace.h"

/* What is less is not seen in GiB with two places. */
enum { LEAST_SEEN = 10 << 20 };

/* Why the search ends without a value that does not fit; NULL: with one. */
static const char *why_there_is_no_next(const ms_fit_answer *a)
{
    switch (a->end) {
    case MS_FIT_POSITIONS:
        return "the model has no more learned positions";
    case MS_FIT_MOST:
        return "larger values were not tried";
    case MS_FIT_LEAST:
        return a->step > 1 || a->value == 1 ? "" : "fewer cannot share the training in this way";
    case MS_FIT_MEMORY:
        break;
    }
    return NULL;
}

/* With what the run's files leave out of the figures. */
static ms_fit_verdict verdict_of(const ms_fit_view *v, const ms_step_figures *f)
{
    return ms_reason_verdict(ms_reason_with_keys(f->reason, &v->run->keys));
}

static void add_why(const ms_fit_view *v, ms_tree *tree)
{
    const ms_fit_answer *a = v->answer;
    char need[MS_GIB_TEXT], over[MS_GIB_TEXT]; /* room for either */
    const ms_step_figures *f = &a->at_next;
    const char *why = why_there_is_no_next(a);
    if (a->end == MS_FIT_LEAST && a->step > 1)
        ms_tree_say(tree, MS_ON_ALL,
                    "no smaller multiple of %" PRIu64 " can share the training in this way",
                    a->step);
    if (why) {
        if (*why)
            ms_tree_paragraph(tree, MS_ON_ALL, why);
        return;
    }
    const bool is_many = ms_fit_is_of_gpus(v->answer) && a->next > 1;
    const bool is_open = verdict_of(v, f) == MS_VERDICT_UNKNOWN;
    const char *verb = is_open   ? is_many ? "may not: each needs up to" : "may not: it needs"
                       : is_many ? "do not: each needs up to"
                                 : "does not: it needs";
    ms_gib(f->device_bytes, need);
    uint64_t more = f->device_bytes - v->run->budget_bytes;
    if (f->reason == MS_FIT_OVER_BUDGET)
        ms_tree_say(tree, MS_ON_ALL, "%" PRIu64 " %s %s GiB, %s too much, and its peak is in %s",
                    a->next, verb, need,
                    more < LEAST_SEEN ? ms_size_format(more, over, sizeof over)
                                      : ms_gib(more, over),
                    ms_phase_name(f->peak_phase));
    else
        ms_tree_say(tree, MS_ON_ALL,
                    "%" PRIu64 " %s %s GiB, and the allocator runs out of memory in %s", a->next,
                    verb, need, ms_phase_name(f->peak_phase));
}

/* The values that there are, side by side: safe where it is another one, largest, next. */
enum { MOST_COLUMNS = 3 };

typedef struct fit_columns {
    uint64_t values[MOST_COLUMNS];
    const ms_step_figures *figures[MOST_COLUMNS];
    uint32_t count;
} fit_columns;

static bool has_safe_column(const ms_fit_answer *a)
{
    return a->safe_value > 0 && a->safe_value != a->value;
}

static fit_columns columns_of(const ms_fit_answer *a)
{
    const struct {
        bool is_there;
        uint64_t value;
        const ms_step_figures *figures;
    } all[MOST_COLUMNS] = {{has_safe_column(a), a->safe_value, &a->at_safe},
                           {a->value > 0, a->value, &a->at_value},
                           {a->next > 0, a->next, &a->at_next}};
    fit_columns c = {.count = 0};
    for (size_t i = 0; i < MOST_COLUMNS; i++)
        if (all[i].is_there) {
            c.values[c.count] = all[i].value;
            c.figures[c.count++] = all[i].figures;
        }
    return c;
}

static void add_row(ms_tree *tree, ms_tree_table *table, const fit_columns *c, const char *name,
                    const uint64_t bytes[MOST_COLUMNS])
{
    ms_tree_cell(tree, table, ms_cell_text(name));
    for (uint32_t i = 0; i < c->count; i++)
        ms_tree_cell(tree, table, ms_cell_gib(bytes[i]));
}

static void add_categories(ms_tree *tree, ms_tree_table *table, const fit_columns *c)
{
    for (int i = 0; i < MS_CATEGORY_COUNT; i++) {
        bool is_seen = false;
        uint64_t bytes[MOST_COLUMNS] = {0};
        for (uint32_t k = 0; k < c->count; k++) {
            bytes[k] = c->figures[k]->category_bytes[i];
            is_seen |= ms_is_seen(bytes[k], c->figures[k]->peak_bytes);
        }
        if (is_seen)
            add_row(tree, table, c, ms_category_name((ms_category)i), bytes);
    }
}

static void add_table(ms_tree *tree, const ms_fit_answer *a)
{
    const fit_columns c = columns_of(a);
    uint64_t allocated[MOST_COLUMNS] = {0}, reserved[MOST_COLUMNS] = {0},
             device[MOST_COLUMNS] = {0};
    ms_tree_column *columns = ms_arena_array(tree->arena, ms_tree_column, 1 + MOST_COLUMNS);
    if (!columns)
        return;
    columns[0] =
        (ms_tree_column){.head = a->what->name, .before = 2, .width = 30, .is_flexible = true};
    for (uint32_t i = 0; i < c.count; i++) {
        const ms_step_figures *f = c.figures[i];
        columns[1 + i] = (ms_tree_column){.head = ms_tree_text(tree, "%" PRIu64, c.values[i]),
                                          .before = 1,
                                          .width = 10,
                                          .is_figure = true};
        allocated[i] = f->peak_bytes;
        reserved[i] = f->reserved_bytes;
        device[i] = f->device_bytes;
    }
    ms_tree_section(tree, MS_ON_ALL, "peak", "At the peak", "GiB");
    ms_tree_table *table =
        ms_tree_begin_table(tree, MS_ON_ALL, "Bytes of each value", columns, 1 + c.count);
    if (table)
        table->is_fixed = true;
    add_categories(tree, table, &c);
    add_row(tree, table, &c, "allocated", allocated);
    add_row(tree, table, &c, "reserved by the allocator", reserved);
    add_row(tree, table, &c, "on the device, with context", device);
}

static const char *gpus_verb(uint64_t gpus, ms_fit_verdict verdict)
{
    if (verdict == MS_VERDICT_UNKNOWN)
        return "may fit";
    if (verdict == MS_VERDICT_TIGHT)
        return gpus == 1 ? "is tight" : "are tight";
    return gpus == 1 ? "fits" : "fit";
}

/* "6 x h100-80gb are tight: up to 78.90 of 79.10 GiB on each, with --parallel fsdp=6" */
static const char *gpus_text(const ms_fit_view *v, ms_arena *arena, uint64_t gpus,
                             const ms_step_figures *f)
{
    char need[MS_GIB_TEXT], budget[MS_GIB_TEXT];
    bool is_one = gpus == 1;
    const ms_layout layout = ms_fit_layout(v->answer, gpus);
    const char *text = ms_layout_text(arena, &layout);
    return text ? ms_arena_printf(arena, "%" PRIu64 " x %s %s: %s%s of %s GiB%s%s%s", gpus,
                                  v->run->device->name, gpus_verb(gpus, verdict_of(v, f)),
                                  is_one ? "" : "up to ", ms_gib(f->device_bytes, need),
                                  ms_gib(v->run->budget_bytes, budget), is_one ? "" : " on each",
                                  is_one ? "" : ", with --parallel ", is_one ? "" : text)
                : NULL;
}

static const char *value_text(const ms_fit_view *v, ms_arena *arena, uint64_t value,
                              const ms_step_figures *f)
{
    char need[MS_GIB_TEXT], budget[MS_GIB_TEXT];
    if (ms_fit_is_of_gpus(v->answer))
        return gpus_text(v, arena, value, f);
    return ms_arena_printf(arena, "%s %" PRIu64 " %s: %s of %s GiB on %s", v->answer->what->name,
                           value, gpus_verb(1, verdict_of(v, f)), ms_gib(f->device_bytes, need),
                           ms_gib(v->run->budget_bytes, budget), v->run->device->name);
}

/* On a page and in Markdown the first sentence is the verdict. */
static void add_none(const ms_fit_view *v, ms_tree *tree)
{
    const ms_fit_answer *a = v->answer;
    char budget[MS_GIB_TEXT];
    const char *without = ms_fit_answer_verdict(v) == MS_VERDICT_UNKNOWN
                              ? ", not counting what is not predicted"
                              : "";
    ms_gib(v->run->budget_bytes, budget);
    if (ms_fit_is_of_gpus(v->answer)) {
        const ms_layout layout = ms_fit_layout(a, a->next);
        const char *text = ms_layout_text(tree->arena, &layout);
        tree->verdict =
            ms_tree_text(tree, "up to %" PRIu64 " x %s do not fit%s, with %s GiB on each", a->next,
                         v->run->device->name, without, budget);
        ms_tree_paragraph(tree, MS_ON_CONSOLE, tree->verdict);
        ms_tree_say(tree, MS_ON_ALL,
                    "memscope analyze with --parallel %s shows why, and what would help",
                    text ? text : "");
    } else {
        tree->verdict =
            ms_tree_text(tree, "%s %" PRIu64 ", the smallest tried, does not fit %s GiB on %s%s",
                         a->what->name, a->step, budget, v->run->device->name, without);
        ms_tree_paragraph(tree, MS_ON_CONSOLE, tree->verdict);
    }
}

ms_fit_verdict ms_fit_answer_verdict(const ms_fit_view *v)
{
    const ms_fit_reason reason = v->answer->value ? v->answer->at_value.reason : MS_FIT_OVER_BUDGET;
    return ms_reason_verdict(ms_reason_with_keys(reason, &v->run->keys));
}

/* The safe value first, then the largest and why it is only just one. */
static void add_values(const ms_fit_view *v, ms_tree *tree)
{
    const ms_fit_answer *a = v->answer;
    const ms_fit_facts facts = {.reason = a->at_value.reason,
                                .budget_bytes = v->run->budget_bytes,
                                .high_device_bytes = a->at_value.high_device_bytes,
                                .retries = a->at_value.retries};
    const char *why = ms_fit_why(tree->arena, &facts);
    const bool has_safe = has_safe_column(a);
    if (ms_fit_answer_verdict(v) == MS_VERDICT_UNKNOWN)
        ms_tree_note(tree, MS_ON_ALL, "Unknown:", ms_inputs_why(tree->arena, &v->run->keys));
    if (a->value == 0) {
        add_none(v, tree);
        return;
    }
    const char *largest = value_text(v, tree->arena, a->value, &a->at_value);
    tree->verdict = has_safe ? value_text(v, tree->arena, a->safe_value, &a->at_safe) : largest;
    ms_tree_paragraph(tree, MS_ON_CONSOLE, tree->verdict);
    if (has_safe)
        ms_tree_paragraph(tree, MS_ON_ALL, largest);
    if (!why || *why)
        ms_tree_note(tree, MS_ON_ALL, ms_fit_why_label, why);
}

enum { FOUND_TEXT = 80 };

/* "batch 4 fits": what was found of the run with other options. */
static const char *found_text(const ms_fit_view *v, const ms_fit_mixed *other,
                              char text[FOUND_TEXT])
{
    const bool is_safe = other->safe_value > 0;
    const uint64_t value = is_safe ? other->safe_value : other->value;
    if (!value)
        return "nothing fits";
    if (ms_fit_is_of_gpus(v->answer))
        snprintf(text, FOUND_TEXT, "%" PRIu64 " x %.40s %s", value, v->run->device->name,
                 gpus_verb(value, is_safe ? MS_VERDICT_FITS : MS_VERDICT_TIGHT));
    else
        snprintf(text, FOUND_TEXT, "%s %" PRIu64 " %s", v->answer->what->name, value,
                 is_safe ? "fits" : "is tight");
    return text;
}

/* Nothing was said of types: the answer in mixed precision. */
static void add_mixed(const ms_fit_view *v, ms_tree *tree)
{
    const ms_fit_mixed *mixed = &v->answer->mixed;
    char found[FOUND_TEXT];
    if (!mixed->options)
        return;
    ms_tree_note(tree, MS_ON_ALL, "note:",
                 ms_tree_text(tree,
                              "weights and optimizer states are in %s because no dtype is given; "
                              "in mixed precision, with weights in fp32 (%s), %s",
                              ms_dtype_info_of(v->run->dtype)->short_name, mixed->options,
                              found_text(v, mixed, found)));
}

/* Nor of checkpoints, which PEFT's preparation of a quantised base has. */
static void add_prepared(const ms_fit_view *v, ms_tree *tree)
{
    const ms_fit_mixed *prepared = &v->answer->prepared;
    char found[FOUND_TEXT];
    if (!prepared->options)
        return;
    ms_tree_note(tree, MS_ON_ALL, "note:",
                 ms_tree_text(tree,
                              "when PEFT prepares a quantised base it checkpoints every layer by "
                              "default, but this run checkpoints none; with %s, %s",
                              prepared->options, found_text(v, prepared, found)));
}

/* What the search met, and what it leaves open. */
static void add_notes(const ms_fit_view *v, ms_tree *tree)
{
    const ms_fit_answer *a = v->answer;
    if (a->first_gap && ms_fit_is_of_gpus(v->answer))
        ms_tree_note(
            tree, MS_ON_ALL, "note:",
            ms_tree_text(
                tree,
                "not every larger number fits: %" PRIu64
                " gpus do not, because padding and the allocator's waste vary with the number",
                a->first_gap));
    else if (a->first_gap)
        ms_tree_note(tree, MS_ON_ALL, "note:",
                     ms_tree_text(tree,
                                  "not every smaller value fits: %s %" PRIu64
                                  " does not, because the allocator's waste varies with the value",
                                  a->what->name, a->first_gap));
    if (!a->has_all)
        ms_tree_note(tree, MS_ON_ALL, "note:",
                     ms_fit_is_of_gpus(v->answer)
                         ? "not every smaller number was tried: one of them may fit, or be safe"
                         : "not every value was tried: a larger one may fit, or be safe, where the "
                           "allocator wastes less");
}

const char *ms_fit_title(ms_arena *arena, const ms_fit_what *what, const ms_model_config *model,
                         const ms_run_config *run)
{
    char text[MS_IMAGES_TEXT];
    const char *name = ms_model_title(model), *images = ms_images_words(model, run, text);
    const char *types = ms_view_types(arena, run);
    const char *optimizer = ms_optimizer_names[run->training.optimizer];
    if (!types)
        return NULL;
    if (what->kind == MS_FIT_GPUS)
        return ms_arena_printf(
            arena, "%s: fewest gpus, each with batch %" PRIu64 " x %" PRIu64 " tokens%s, %s, %s",
            name, run->batch, run->seq_tokens, images, types, optimizer);
    return ms_arena_printf(arena, "%s: largest %s%s, %s, %s, %s", name, what->name, images,
                           what->unit, types, optimizer);
}

static ms_tree build(const ms_fit_view *v)
{
    ms_tree tree = ms_tree_begin(NULL);
    if (!tree.arena)
        return tree;
    const char *title = ms_fit_title(tree.arena, v->answer->what, v->model, v->run);
    ms_tree_head(&tree, "memscope", title, NULL, ms_fit_answer_verdict(v));
    ms_tree_line(&tree, MS_ON_CONSOLE, title);
    ms_tree_gap(&tree);
    add_values(v, &tree);
    add_why(v, &tree);
    add_prepared(v, &tree);
    add_notes(v, &tree);
    add_mixed(v, &tree);
    if (v->run->several_gpus.text)
        ms_tree_note(&tree, MS_ON_ALL, "note:", v->run->several_gpus.text);
    add_table(&tree, v->answer);
    return tree;
}

MS_TREE_WRITERS(ms_fit_report, ms_fit_view, build, v->style)
