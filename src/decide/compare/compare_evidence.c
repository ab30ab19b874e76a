/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/compare/compare_evidence.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/locale.h"

/* ---- figures ---- */

static const char *const category_names[] = {"weight", "buffer",     "gradient", "optimizer_state",
                                             "input",  "activation", "temporary"};

static bool is_of_attention(const char *module)
{
    bool is_named = strstr(module, "attn") || strstr(module, "ttention");
    return is_named && !strstr(module, "norm");
}

void ms_compare_evidence_make(ms_compare_view *v, ms_compare_evidence *e)
{
    *e = (ms_compare_evidence){.view = v, .first = &v->first->step, .second = &v->second->step};
    const ms_compare_rows *rows = &v->tables[MS_COMPARE_CATEGORIES];
    for (uint32_t i = 0; i < rows->count; i++)
        for (int c = 0; c < MS_COMPARE_CATEGORY_COUNT; c++)
            if (strcmp(rows->items[i].name, category_names[c]) == 0) {
                e->first_bytes[c] = (double)rows->items[i].first_bytes;
                e->second_bytes[c] = (double)rows->items[i].second_bytes;
            }
    rows = &v->tables[MS_COMPARE_MODULES];
    for (uint32_t i = 0; i < rows->count; i++)
        if (is_of_attention(rows->items[i].name))
            e->attention_bytes += (double)rows->items[i].residual;
    const char *a = v->first->peak_stage, *b = v->second->peak_stage;
    e->is_same_phase = a && b && strcmp(a, b) == 0;
}

double ms_compare_sum(const ms_compare_evidence *e, uint32_t categories)
{
    double sum = 0;
    for (int c = 0; c < MS_COMPARE_CATEGORY_COUNT; c++)
        if ((categories >> c & 1) != 0)
            sum += e->second_bytes[c] - e->first_bytes[c];
    return sum;
}

double ms_compare_size_of(const ms_compare_evidence *e, uint32_t categories)
{
    double sum = 0;
    for (int c = 0; c < MS_COMPARE_CATEGORY_COUNT; c++)
        if ((categories >> c & 1) != 0)
            sum += fabs(e->second_bytes[c] - e->first_bytes[c]);
    return sum;
}

bool ms_compare_differs(const ms_compare_evidence *e, uint32_t categories)
{
    for (int c = 0; c < MS_COMPARE_CATEGORY_COUNT; c++)
        if ((categories >> c & 1) != 0 && e->second_bytes[c] != e->first_bytes[c])
            return true;
    return false;
}

const ms_compare_row *ms_compare_phase(const ms_compare_evidence *e, const char *name)
{
    const ms_compare_rows *rows = &e->view->tables[MS_COMPARE_PHASES];
    for (uint32_t i = 0; i < rows->count; i++)
        if (strcmp(rows->items[i].name, name) == 0)
            return &rows->items[i];
    return NULL;
}

bool ms_compare_has_peak_in(const ms_recorded *r, const char *phase)
{
    return r->peak_stage && strcmp(r->peak_stage, phase) == 0;
}

/* ---- texts ---- */

const char *ms_compare_text(ms_compare_evidence *e, const char *format, ...)
{
    char text[240];
    va_list args;
    va_start(args, format);
    ms_text_vprint(text, sizeof text, format, args);
    va_end(args);
    const char *kept = ms_arena_strdup(e->view->arena, text);
    e->has_failed = e->has_failed || !kept;
    return kept ? kept : "";
}
