/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/compare/compare_verdict.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text/number.h"
#include "decide/compare/compare_causes.h"

enum { NEAR_PER_MILLE = 5 };

const char *ms_compare_mode(const ms_recorded *r)
{
    return r->is_static ? "static" : r->mode;
}

static const char *residual_text(int64_t residual, char text[MS_RESIDUAL_TEXT])
{
    char bytes[MS_BYTES_TEXT];
    snprintf(text, MS_RESIDUAL_TEXT, "%s%s",
             residual > 0   ? "+"
             : residual < 0 ? "-"
                            : "",
             ms_bytes_text(ms_compare_size(residual), bytes));
    return text;
}

const char *ms_compare_row_name(const ms_compare_row *row, char text[MS_ROW_TEXT])
{
    if (row->micro_step > 0)
        snprintf(text, MS_ROW_TEXT, "%.24s %" PRIu64, row->name, row->micro_step + 1);
    else
        snprintf(text, MS_ROW_TEXT, "%.60s", row->name);
    return text;
}

/* ---- the decision ---- */

static const struct side_name {
    const char *mode, *name;
} side_names[] = {{"static", "the prediction"},
                  {"null", "the null device"},
                  {"cuda", "the GPU"},
                  {"replay", "the replay"}};

/* Two of a kind are distinguished by their order. */
static const char *side_name(const ms_compare_view *v, const ms_recorded *r)
{
    bool is_alike = strcmp(ms_compare_mode(v->first), ms_compare_mode(v->second)) == 0;
    for (size_t i = 0; !is_alike && i < sizeof side_names / sizeof side_names[0]; i++)
        if (strcmp(side_names[i].mode, ms_compare_mode(r)) == 0)
            return side_names[i].name;
    return r == v->first ? "the first" : "the second";
}

static const char *sentence(ms_arena *arena, const char *text)
{
    char *copy = text ? ms_arena_strdup(arena, text) : NULL;
    if (copy && *copy >= 'a' && *copy <= 'z')
        *copy = (char)(*copy - 'a' + 'A');
    return copy;
}

static const char *equal_text(const ms_compare_view *v)
{
    const ms_compare_row *reserved = &v->tables[MS_COMPARE_TOTALS].items[2];
    char gib[MS_GIB_TEXT], gap[MS_RESIDUAL_TEXT];
    if (v->is_equal)
        return ms_arena_printf(v->arena,
                               "equal to the byte: the peak is %s GiB, and reserved memory is "
                               "equal too",
                               ms_gib(v->first->peak_bytes, gib));
    return ms_arena_printf(v->arena,
                           "the peaks are equal to the byte, %s GiB; reserved memory "
                           "differs by %s",
                           ms_gib(v->first->peak_bytes, gib),
                           residual_text(reserved->residual, gap));
}

static const char *decision(const ms_compare_view *v)
{
    char bytes[MS_BYTES_TEXT], percent[MS_FIXED_TEXT], a[MS_GIB_TEXT], b[MS_GIB_TEXT];
    const ms_recorded *first = v->first, *second = v->second;
    if (v->residual == 0)
        return equal_text(v);
    double share = first->peak_bytes ? fabs((double)v->residual) / (double)first->peak_bytes : NAN;
    return ms_arena_printf(v->arena, "%s is %s %% (%s) %s %s: %s compared with %s GiB at the peak",
                           side_name(v, second), ms_fixed(100 * share, 2, percent),
                           ms_bytes_text(ms_compare_size(v->residual), bytes),
                           v->residual > 0 ? "above" : "below", side_name(v, first),
                           ms_gib(second->peak_bytes, b), ms_gib(first->peak_bytes, a));
}

/* ---- the cause ---- */

/* What a difference in a category usually comes from. */
static const struct meaning {
    const char *category, *text;
} meanings[] = {
    {"weight", "other parameters, or another dtype"},
    {"buffer", "buffers that only one of them has"},
    {"gradient", "gradients of another dtype, freed at another time, or for other parameters"},
    {"optimizer_state", "another optimizer, or a first step, which creates the states"},
    {"input",
     "tensors from before the step: inputs, library workspaces, the program's own tensors"},
    {"activation", "other kernels, or operators that save other tensors for backward"},
    {"temporary", "other kernels, or another order of allocations and frees at the peak"},
    {"rounding", "remainders of cached blocks that were too small to be split off"},
};

/* Where both have the same parameters and the same optimizer, only blocks are left. */
static bool is_same_model(const ms_compare_view *v)
{
    const ms_recorded_step *a = &v->first->step, *b = &v->second->step;
    return a->parameters > 0 && a->parameters == b->parameters && a->trainable == b->trainable &&
           a->dtype && b->dtype && strcmp(a->dtype, b->dtype) == 0 && a->optimizer &&
           b->optimizer && strcmp(a->optimizer, b->optimizer) == 0;
}

static const char *meaning_of(const ms_compare_view *v, const char *category)
{
    enum { FEW_PER_MILLE = 20 };
    bool is_held = strcmp(category, "weight") == 0 || strcmp(category, "optimizer_state") == 0;
    bool is_few =
        ms_permille(ms_compare_size(v->cause->residual), v->first->peak_bytes) < FEW_PER_MILLE;
    if (is_held && is_few && is_same_model(v))
        return "the same parameters and optimizer, in blocks of other sizes";
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++)
        if (strcmp(meanings[i].category, category) == 0)
            return meanings[i].text;
    return NULL;
}

static const ms_compare_row *largest(const ms_compare_rows *rows)
{
    const ms_compare_row *found = NULL;
    for (uint32_t i = 0; i < rows->count; i++) {
        uint64_t size = ms_compare_size(rows->items[i].residual);
        if (size > 0 && (!found || size > ms_compare_size(found->residual)))
            found = &rows->items[i];
    }
    return found;
}

static const char *place_text(const ms_compare_view *v)
{
    const ms_compare_parting *p = &v->parting;
    char gap[MS_RESIDUAL_TEXT];
    if (p->has_parted)
        return ms_arena_printf(v->arena,
                               "; the steps diverge between allocations and frees %" PRIu64
                               " and %" PRIu64 ", in %.24s",
                               p->same_event, p->event, p->phase);
    if (p->is_known && p->from_start != 0)
        return ms_arena_printf(v->arena, "; the difference of %s is there from the start",
                               residual_text(p->from_start, gap));
    return "";
}

/* A prediction stands beside "the captured run". */
static const char *owner_name(const ms_compare_view *v, const ms_recorded *r)
{
    bool is_captured = !r->is_static && strcmp(r->mode, "replay") != 0;
    bool is_beside_static = v->first->is_static != v->second->is_static;
    return is_captured && is_beside_static ? "the captured run" : side_name(v, r);
}

/* "the captured run has 1536 tokens a sequence, the prediction 1024; sgd as its optimizer, the
 * prediction adamw" */
static const char *causes_text(const ms_compare_view *v)
{
    const char *text = "";
    for (uint32_t i = 0; i < v->cause_count && text; i++) {
        const ms_compare_cause *c = &v->causes[i];
        const char *what = c->brief ? c->brief : c->first;
        if (i == 0)
            text = ms_arena_printf(v->arena, "%s has %s, %s %s", owner_name(v, v->second),
                                   c->second, owner_name(v, v->first), what);
        else
            text = ms_arena_printf(v->arena, "%s; %s, %s %s", text, c->second,
                                   owner_name(v, v->first), what);
    }
    return text;
}

static const char *lead_of(const ms_compare_view *v)
{
    return v->cause_count == 0 ? "largest cause"
           : v->is_explained   ? ". Largest difference"
                               : ". That explains less than half of the difference; largest part";
}

static const char *why(const ms_compare_view *v)
{
    char gap[MS_RESIDUAL_TEXT], percent[MS_FIXED_TEXT], in_module[MS_RESIDUAL_TEXT];
    const char *place = place_text(v), *module = "", *causes = causes_text(v);
    if (v->residual == 0 || !v->cause)
        return "";
    if (v->module && *v->module->name != '(') /* what no module holds has no place */
        module = ms_arena_printf(v->arena, ", mostly in module %.120s (%s)", v->module->name,
                                 residual_text(v->module->residual, in_module));
    const char *meaning = v->is_explained ? NULL : meaning_of(v, v->cause->name);
    return place && module && causes
               ? ms_arena_printf(v->arena, "%s%s: %.40s, %s (%s %% of the difference)%s%s%s%s",
                                 causes, lead_of(v), v->cause->name,
                                 residual_text(v->cause->residual, gap),
                                 ms_fixed(100 * v->cause->of_residual, 0, percent), module,
                                 meaning ? ": " : "", meaning ? meaning : "", place)
               : NULL;
}

/* ---- what makes them hard to compare ---- */

static void add_note(ms_compare_view *v, const char *text)
{
    v->notes[v->note_count++] = text;
}

/* "2.11" and "2.11.0+cu130" are the same. */
static bool is_same_torch(const char *a, const char *b)
{
    size_t length = strlen(a) < strlen(b) ? strlen(a) : strlen(b);
    return strncmp(a, b, length) == 0 && strchr(".+", a[length]) && strchr(".+", b[length]);
}

static void find_notes(ms_compare_view *v)
{
    const ms_recorded *a = v->first, *b = v->second;
    if (a->device && b->device && strcmp(a->device, b->device) != 0)
        add_note(v, "They are for different devices.");
    if (a->torch && b->torch && !is_same_torch(a->torch, b->torch))
        add_note(v, "They are for different versions of PyTorch.");
    if ((!a->is_static && a->steps == 1) || (!b->is_static && b->steps == 1))
        add_note(v, "One of them is a first step, which creates the optimizer's states.");
    if (!a->engine && (strcmp(a->outcome, "stepped") != 0 || strcmp(b->outcome, "stepped") != 0))
        add_note(v, "Not all requested steps were completed: the figures are for those that were.");
}

bool ms_compare_verdict_make(ms_compare_view *v)
{
    const ms_compare_row *totals = v->tables[MS_COMPARE_TOTALS].items;
    v->residual = totals[1].residual;
    v->is_equal = totals[1].residual == 0 && totals[2].residual == 0;
    v->is_near = ms_permille(ms_compare_size(v->residual), v->first->peak_bytes) < NEAR_PER_MILLE;
    v->cause = largest(&v->tables[MS_COMPARE_CATEGORIES]);
    v->module = largest(&v->tables[MS_COMPARE_MODULES]);
    if (!ms_compare_causes_find(v))
        return false;
    v->verdict = sentence(v->arena, decision(v));
    v->why = sentence(v->arena, why(v));
    find_notes(v);
    return v->verdict && v->why;
}
