/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Two reports, given as texts, and what comparing them shows.
 */
#ifndef UNIT_PAIRS_H
#define UNIT_PAIRS_H

#include <string.h>

#include "decide/compare/compare.h"
#include "decide/compare/compare_view.h"
#include "unit/support.h"

typedef struct pair {
    ms_recorded first, second;
    ms_arena *arena;
    ms_compare_view view;
} pair;

static inline void parse(ms_recorded *r, const char *text)
{
    ms_error err = {0};
    const ms_json_source source = {"r.json", text, strlen(text)};
    assert_int_equal(ms_recorded_parse(r, &source, &err), MS_OK);
}

static inline pair *compare(const char *first, const char *second)
{
    ms_error err = {0};
    pair *p = calloc(1, sizeof *p);
    assert_non_null(p);
    parse(&p->first, first);
    parse(&p->second, second);
    p->arena = ms_arena_create(0);
    assert_int_equal(ms_compare_view_make(p->arena, &p->first, &p->second, &p->view, &err), MS_OK);
    return p;
}

static inline void drop(pair *p)
{
    ms_recorded_close(&p->first);
    ms_recorded_close(&p->second);
    ms_arena_free(p->arena);
    free(p);
}

#endif
