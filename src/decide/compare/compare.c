/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "decide/compare/compare_verdict.h"
#include "decide/compare/compare_view.h"
#include "input/document/recorded.h"

typedef struct ms_compare_phase_pair {
    const ms_recorded_phase *first, *second; /* NULL: that report has none */
} ms_compare_phase_pair;

/* ---- compare phases ---- */

/* Which phases of two reports stand beside each other. */

typedef struct phases {
    const ms_recorded_phase *items;
    uint32_t count;
} phases;

static phases phases_of(const ms_recorded *r)
{
    return (phases){r->phases, r->phase_count};
}

static bool is_alike(const ms_recorded_phase *a, const ms_recorded_phase *b)
{
    return strcmp(a->name, b->name) == 0;
}

/* ---- in order ---- */

/* A capture tells passes of one kind that follow each other, as in a pipeline's schedule, as one:
 * so are neighbours of one name here. It has the highest of their peaks. */
static phases joined(ms_arena *arena, const ms_recorded *r)
{
    ms_recorded_phase *rows = ms_arena_array(arena, ms_recorded_phase, r->phase_count);
    uint32_t count = 0;
    for (uint32_t i = 0; rows && i < r->phase_count; i++) {
        const ms_recorded_phase *p = &r->phases[i];
        if (count == 0 || !is_alike(&rows[count - 1], p)) {
            rows[count++] = *p;
            continue;
        }
        ms_recorded_phase *one = &rows[count - 1];
        one->end_bytes = p->end_bytes;
        if (p->peak_bytes > one->peak_bytes)
            one->peak_bytes = p->peak_bytes;
    }
    return (phases){rows, count};
}

/* A row that stands for several micro-steps has no place in an order. */
static bool is_same_order(phases a, phases b)
{
    if (a.count != b.count)
        return false;
    for (uint32_t i = 0; i < a.count; i++)
        if (!is_alike(&a.items[i], &b.items[i]) || a.items[i].repeats > 1 || b.items[i].repeats > 1)
            return false;
    return true;
}

/* ---- by name ---- */

static bool is_only_one(phases all, const ms_recorded_phase *like)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < all.count; i++)
        count += is_alike(&all.items[i], like);
    return count == 1;
}

/* A phase may stand for several micro-steps; which one an optimizer's belongs to is not the same in
 * all reports. */
static const ms_recorded_phase *find(phases all, phases own, const ms_recorded_phase *like)
{
    const ms_recorded_phase *items = all.items;
    for (uint32_t i = 0; i < all.count; i++) {
        const ms_recorded_phase *p = items + i;
        bool before =
            p->micro_step < like->micro_step && like->micro_step - p->micro_step < p->repeats;
        if (is_alike(p, like) &&
            (before || p->micro_step == like->micro_step ||
             (strcmp(p->name, "forward") != 0 && strcmp(p->name, "backward") != 0 &&
              is_only_one(all, like) && is_only_one(own, like))))
            return p;
    }
    return NULL;
}

/* Those of the report that has more of them, then those that only the other one has. */
static uint32_t pair_by_name(phases a, phases b, ms_compare_phase_pair *pairs)
{
    bool is_swapped = b.count > a.count;
    phases lead = is_swapped ? b : a, rest = is_swapped ? a : b;
    uint32_t count = 0;
    for (uint32_t i = 0; i < lead.count; i++) {
        const ms_recorded_phase *p = &lead.items[i], *q = find(rest, lead, p);
        pairs[count++] = is_swapped ? (ms_compare_phase_pair){q, p} : (ms_compare_phase_pair){p, q};
    }
    for (uint32_t i = 0; i < rest.count; i++) {
        const ms_recorded_phase *q = &rest.items[i];
        if (!find(lead, rest, q))
            pairs[count++] =
                is_swapped ? (ms_compare_phase_pair){q, NULL} : (ms_compare_phase_pair){NULL, q};
    }
    return count;
}

/* Pairs in the order of the step, of `arena`. NULL when out of memory. */
static ms_compare_phase_pair *compare_pair_phases(ms_arena *arena, const ms_recorded *first,
                                                  const ms_recorded *second, uint32_t *count)
{
    phases a = phases_of(first), b = phases_of(second);
    ms_compare_phase_pair *pairs =
        ms_arena_array(arena, ms_compare_phase_pair, (size_t)a.count + b.count);
    phases fewer_a = joined(arena, first), fewer_b = joined(arena, second);
    if (!pairs || !fewer_a.items || !fewer_b.items)
        return NULL;
    bool is_ordered = is_same_order(a, b),
         is_joined = !is_ordered && is_same_order(fewer_a, fewer_b);
    if (!is_ordered && !is_joined) {
        *count = pair_by_name(a, b, pairs);
        return pairs;
    }
    *count = is_joined ? fewer_a.count : a.count;
    for (uint32_t i = 0; i < *count; i++)
        pairs[i] = is_joined ? (ms_compare_phase_pair){&fewer_a.items[i], &fewer_b.items[i]}
                             : (ms_compare_phase_pair){&a.items[i], &b.items[i]};
    return pairs;
}

/* ---- compare rows ---- */

/* The tables of a comparison. */

const char *const ms_compare_titles[] = {
    [MS_COMPARE_TOTALS] = "Totals",
    [MS_COMPARE_PHASES] = "Peaks of the phases",
    [MS_COMPARE_CATEGORIES] = "At the peak, by category",
    [MS_COMPARE_MODULES] = "At the peak, by module",
};

static ms_compare_row *add_row(ms_compare_rows *rows, const char *name)
{
    ms_compare_row *row = &rows->items[rows->count++];
    *row = (ms_compare_row){.name = name, .is_known = true};
    return row;
}

static void set_first(ms_compare_row *row, uint64_t bytes)
{
    row->has_first = true;
    row->first_bytes += bytes;
}

static void set_second(ms_compare_row *row, uint64_t bytes)
{
    row->has_second = true;
    row->second_bytes += bytes;
}

static bool make_room(ms_compare_view *view, ms_compare_table table, size_t count)
{
    view->tables[table].items = ms_arena_array(view->arena, ms_compare_row, count);
    return view->tables[table].items != NULL;
}

/* ---- totals and phases: levels, which do not add up ---- */

static bool make_totals(ms_compare_view *view)
{
    const ms_recorded *a = view->first, *b = view->second;
    const struct {
        const char *name;
        uint64_t first, second;
    } totals[] = {{"start of the step", a->start_bytes, b->start_bytes},
                  {"peak", a->peak_bytes, b->peak_bytes},
                  {"reserved", a->reserved_bytes, b->reserved_bytes}};
    enum { TOTALS = sizeof totals / sizeof totals[0] };
    if (!make_room(view, MS_COMPARE_TOTALS, TOTALS))
        return false;
    for (size_t i = 0; i < TOTALS; i++) {
        ms_compare_row *row = add_row(&view->tables[MS_COMPARE_TOTALS], totals[i].name);
        set_first(row, totals[i].first);
        set_second(row, totals[i].second);
    }
    return true;
}

static bool make_phases(ms_compare_view *view)
{
    uint32_t count = 0;
    const ms_compare_phase_pair *pairs =
        compare_pair_phases(view->arena, view->first, view->second, &count);
    ms_compare_rows *rows = &view->tables[MS_COMPARE_PHASES];
    if (!pairs || !make_room(view, MS_COMPARE_PHASES, count))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const ms_recorded_phase *p = pairs[i].first, *q = pairs[i].second;
        const ms_recorded_phase *either = p ? p : q;
        ms_compare_row *row = add_row(rows, either->name);
        row->micro_step = either->micro_step;
        if (p)
            set_first(row, p->peak_bytes);
        if (q)
            set_second(row, q->peak_bytes);
        row->is_known = p && q;
    }
    return true;
}

/* ---- categories and modules: parts of the peak ---- */

static ms_compare_row *find_or_add(ms_compare_rows *rows, const char *name)
{
    for (uint32_t i = 0; i < rows->count; i++)
        if (strcmp(rows->items[i].name, name) == 0)
            return &rows->items[i];
    return add_row(rows, name);
}

static bool has_category(const ms_recorded *r, const char *name)
{
    for (uint32_t i = 0; i < r->category_count; i++)
        if (strcmp(r->categories[i].name, name) == 0)
            return true;
    return false;
}

/* How the categories of a report are brought to those of the other one: a recorded step does not
 * tell workspaces from what else was there before it, and keeps the ends of blocks apart. */
typedef struct wording {
    bool joins_workspace, splits_rounding;
} wording;

static wording wording_of(const ms_recorded *r, const ms_recorded *other)
{
    return (wording){.joins_workspace =
                         has_category(r, "workspace") && !has_category(other, "workspace"),
                     .splits_rounding = r->is_static && !other->is_static};
}

typedef void (*side_setter)(ms_compare_row *row, uint64_t bytes);

static void add_categories(ms_compare_rows *rows, const ms_recorded *r, wording how,
                           side_setter set)
{
    uint64_t rounding_bytes = 0;
    for (uint32_t i = 0; i < r->category_count; i++) {
        const ms_recorded_category *c = &r->categories[i];
        bool joins = how.joins_workspace && strcmp(c->name, "workspace") == 0;
        ms_compare_row *row = find_or_add(rows, joins ? "input" : c->name);
        set(row, how.splits_rounding ? c->rounded_bytes : c->bytes);
        rounding_bytes += c->bytes - c->rounded_bytes;
    }
    if (how.splits_rounding && rounding_bytes > 0)
        set(find_or_add(rows, "rounding"), rounding_bytes);
}

static bool make_categories(ms_compare_view *view)
{
    const ms_recorded *a = view->first, *b = view->second;
    ms_compare_rows *rows = &view->tables[MS_COMPARE_CATEGORIES];
    if (!make_room(view, MS_COMPARE_CATEGORIES, (size_t)a->category_count + b->category_count + 2))
        return false;
    add_categories(rows, a, wording_of(a, b), set_first);
    add_categories(rows, b, wording_of(b, a), set_second);
    return true;
}

typedef struct named_part {
    const char *name;
    uint64_t bytes;
    bool is_second;
} named_part;

static int by_name(const void *a, const void *b)
{
    const named_part *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : x->is_second - y->is_second;
}

/* What names of modules begin with up to a list of layers: "model." of "model.layers.*.mlp". */
typedef struct root {
    const char *text;
    size_t length;
} root;

static root root_of(const ms_recorded *r)
{
    for (uint32_t i = 0; i < r->group_count; i++) {
        const char *name = r->groups[i].name, *end = strstr(name, ".*");
        while (end && end > name && end[-1] != '.')
            end--;
        if (end)
            return (root){name, (size_t)(end - name)};
    }
    return (root){"", 0};
}

/* What only this root has: names share their last words, "model." of "module.model.". */
static root own_part(root r, root other)
{
    size_t shared = 0, words = 0;
    while (shared < r.length && shared < other.length &&
           r.text[r.length - 1 - shared] == other.text[other.length - 1 - shared]) {
        shared++;
        bool is_start = shared == r.length || r.text[r.length - 1 - shared] == '.';
        bool is_others = shared == other.length || other.text[other.length - 1 - shared] == '.';
        words = is_start && is_others ? shared : words;
    }
    return (root){r.text, r.length - words};
}

/* Whether they name the same layer. */
static bool shares_layers(const ms_recorded *a, const ms_recorded *b)
{
    for (uint32_t i = 0; i < a->group_count; i++)
        for (uint32_t k = 0; k < b->group_count && strchr(a->groups[i].name, '*'); k++)
            if (strcmp(a->groups[i].name, b->groups[k].name) == 0)
                return true;
    return false;
}

/* A prediction counts an activation to the module that calls it: "mlp" of "mlp.act_fn". NULL when
 * out of memory. */
static const char *without_activation(ms_arena *arena, const char *name)
{
    static const char *const words[] = {".act_fn", ".activation_fn", ".act"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t end = strlen(words[i]);
        if (length > end && strcmp(name + length - end, words[i]) == 0)
            return ms_arena_printf(arena, "%.*s", (int)(length - end), name);
    }
    return name;
}

/* In a stage of a pipeline, or under a wrapper, the model may hang at another root: names without
 * their roots are compared then. */
static bool list_modules(ms_arena *arena, const ms_recorded *r, bool is_second, bool is_rounded,
                         root without, named_part *parts)
{
    for (uint32_t i = 0; i < r->group_count; i++) {
        const ms_recorded_group *g = &r->groups[i];
        bool has_root = strncmp(g->name, without.text, without.length) == 0;
        bool is_root = without.length > 0 && strlen(g->name) == without.length - 1 &&
                       strncmp(g->name, without.text, without.length - 1) == 0;
        const char *name = is_root ? "" : has_root ? g->name + without.length : g->name;
        if (is_rounded && (name = without_activation(arena, name)) == NULL)
            return false;
        parts[i] = (named_part){*name ? name : "(no module)",
                                is_rounded ? g->rounded_bytes : g->peak_bytes, is_second};
    }
    return true;
}

static bool make_modules(ms_compare_view *view)
{
    const ms_recorded *a = view->first, *b = view->second;
    ms_compare_rows *rows = &view->tables[MS_COMPARE_MODULES];
    size_t count = (size_t)a->group_count + b->group_count;
    if (a->group_count == 0 || b->group_count == 0)
        return true;
    named_part *parts = ms_arena_array(view->arena, named_part, count);
    bool is_rounded = a->is_static != b->is_static;
    if (!parts || !make_room(view, MS_COMPARE_MODULES, count))
        return false;
    bool is_same = shares_layers(a, b);
    root first = is_same ? (root){"", 0} : root_of(a), second = is_same ? first : root_of(b);
    if (!list_modules(view->arena, a, false, is_rounded, own_part(first, second), parts) ||
        !list_modules(view->arena, b, true, is_rounded, own_part(second, first),
                      parts + a->group_count))
        return false;
    qsort(parts, count, sizeof *parts, by_name);
    for (size_t i = 0; i < count; i++) {
        bool is_new = i == 0 || strcmp(parts[i].name, parts[i - 1].name) != 0;
        ms_compare_row *row = is_new ? add_row(rows, parts[i].name) : &rows->items[rows->count - 1];
        (parts[i].is_second ? set_second : set_first)(row, parts[i].bytes);
    }
    return true;
}

static /* ---- what they differ by ---- */

    /* Fits: no report is above 2^62 bytes but by a forged file, where it saturates. */
    int64_t
    compare_residual(uint64_t a, uint64_t b)
{
    uint64_t gap = a > b ? a - b : b - a;
    int64_t signed_gap = gap > INT64_MAX ? INT64_MAX : (int64_t)gap;
    return a > b ? -signed_gap : signed_gap;
}

/* Levels are no parts of anything: only the others have shares of a whole. */
static void fill_residuals(ms_compare_rows *rows, bool is_sum, uint64_t peak_bytes)
{
    double sum = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        ms_compare_row *row = &rows->items[i];
        row->residual = row->is_known ? compare_residual(row->first_bytes, row->second_bytes) : 0;
        sum += fabs((double)row->residual);
    }
    for (uint32_t i = 0; i < rows->count; i++) {
        ms_compare_row *row = &rows->items[i];
        bool is_share = row->is_known && peak_bytes > 0;
        row->of_peak = is_share ? (double)row->residual / (double)peak_bytes : (double)NAN;
        row->of_residual = is_sum && sum > 0 ? fabs((double)row->residual) / sum : (double)NAN;
    }
}

static int by_residual(const void *a, const void *b)
{
    const ms_compare_row *x = a, *y = b;
    uint64_t x_size = ms_compare_size(x->residual), y_size = ms_compare_size(y->residual);
    if (x_size != y_size)
        return x_size > y_size ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* False when out of memory. */
static bool compare_rows_make(ms_compare_view *view)
{
    if (!make_totals(view) || !make_phases(view) || !make_categories(view) || !make_modules(view))
        return false;
    for (int i = 0; i < MS_COMPARE_TABLES; i++)
        fill_residuals(&view->tables[i], i >= MS_COMPARE_CATEGORIES, view->first->peak_bytes);
    ms_compare_rows *modules = &view->tables[MS_COMPARE_MODULES];
    if (modules->count > 0)
        qsort(modules->items, modules->count, sizeof *modules->items, by_residual);
    return true;
}

/* ---- compare parting ---- */

/* Finds where two timelines diverge. */

static /* Both steps may be sampled: only events that are in both lists can be compared against each
        * other. A difference that is there from the start is no parting; its change is. */
    void
    compare_parting_find(ms_compare_view *view)
{
    const ms_recorded *a = view->first, *b = view->second;
    ms_compare_parting *p = &view->parting;
    *p = (ms_compare_parting){.phase = ""};
    if (a->point_count > 0 && b->point_count > 0) {
        p->first_events = a->events ? a->events : a->timeline[a->point_count - 1].event;
        p->second_events = b->events ? b->events : b->timeline[b->point_count - 1].event;
    }
    for (uint32_t i = 0, j = 0; i < a->point_count && j < b->point_count && !p->has_parted;) {
        const ms_recorded_point *x = &a->timeline[i], *y = &b->timeline[j];
        if (x->event != y->event) {
            i += x->event < y->event;
            j += y->event < x->event;
            continue;
        }
        if (!p->is_known)
            p->from_start = compare_residual(x->bytes, y->bytes);
        p->is_known = true;
        p->has_parted = compare_residual(x->bytes, y->bytes) != p->from_start;
        if (p->has_parted) {
            p->event = x->event;
            p->phase = y->phase;
            p->first_bytes = x->bytes;
            p->second_bytes = y->bytes;
        } else {
            p->same_event = x->event;
        }
        i++;
        j++;
    }
}

/* ---- compare ---- */

ms_status ms_compare_view_make(ms_arena *arena, const ms_recorded *first, const ms_recorded *second,
                               ms_compare_view *view, ms_error *err)
{
    *view = (ms_compare_view){.first = first, .second = second, .arena = arena};
    bool ok = compare_rows_make(view);
    if (ok)
        compare_parting_find(view);
    ok = ok && ms_compare_verdict_make(view);
    return ok ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "out of memory for a comparison");
}
