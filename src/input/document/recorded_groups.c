/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/document/recorded_groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "input/document/recorded_members.h"

/* "model.layers.3.mlp" as "model.layers.*.mlp": layers that do the same have one name. NULL when
 * out of memory. */
static const char *alike(ms_arena *arena, const char *name)
{
    char *masked = ms_arena_strdup(arena, name), *to = masked;
    for (const char *from = name; masked && *from;) {
        size_t length = strcspn(from, ".");
        if (from > name && strspn(from, "0123456789") == length)
            *to++ = '*';
        else
            to = (char *)memcpy(to, from, length) + length;
        from += length;
        if (*from)
            *to++ = *from++;
    }
    if (masked)
        *to = '\0';
    return masked;
}

/* Reports of a predicted run have only what modules hold at the peak. */
static ms_status read_group(const ms_recorded *r, ms_json_value v, ms_recorded_group *g,
                            ms_error *err)
{
    const struct {
        const char *key;
        uint64_t *bytes;
        bool is_captured;
    } members[] = {{"peak_bytes", &g->peak_bytes, false},
                   {"saved_bytes", &g->saved_bytes, true},
                   {"most_temporary_bytes", &g->temporary_bytes, true}};
    ms_json_value member;
    const char *name = NULL;
    ms_status status = ms_recorded_text(v, "module", &name, err);
    for (size_t i = 0; i < sizeof members / sizeof members[0] && status == MS_OK; i++) {
        if (members[i].is_captured && r->is_static)
            continue;
        status = ms_recorded_count(v, members[i].key, members[i].bytes, err);
    }
    g->rounded_bytes = g->peak_bytes;
    if (status == MS_OK && ms_json_find(v, "peak_rounded_bytes", &member))
        status = ms_json_get_count(member, 0, g->peak_bytes, &g->rounded_bytes, err);
    if (status != MS_OK)
        return status;
    g->name = alike(r->arena, name);
    g->count = 1;
    return g->name ? MS_OK : ms_fail(err, MS_ERR_NOMEM, "out of memory for a report");
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const ms_recorded_group *)a)->name, ((const ms_recorded_group *)b)->name);
}

static int by_bytes(const void *a, const void *b)
{
    const ms_recorded_group *first = a, *second = b;
    if (first->peak_bytes != second->peak_bytes)
        return first->peak_bytes > second->peak_bytes ? -1 : 1;
    return strcmp(first->name, second->name);
}

static uint64_t sum_of(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Groups of rows in order of their names; returns how many. */
static uint32_t join(ms_recorded_group *rows, uint32_t count)
{
    uint32_t groups = 0;
    for (uint32_t i = 0; i < count; i++) {
        ms_recorded_group *g = groups > 0 ? &rows[groups - 1] : NULL;
        if (!g || strcmp(g->name, rows[i].name) != 0) {
            rows[groups++] = rows[i];
            continue;
        }
        g->count++;
        g->peak_bytes = sum_of(g->peak_bytes, rows[i].peak_bytes);
        g->rounded_bytes = sum_of(g->rounded_bytes, rows[i].rounded_bytes);
        g->saved_bytes = sum_of(g->saved_bytes, rows[i].saved_bytes);
        if (rows[i].temporary_bytes > g->temporary_bytes)
            g->temporary_bytes = rows[i].temporary_bytes;
    }
    return groups;
}

ms_status ms_recorded_read_groups(ms_recorded *r, ms_json_value root, ms_error *err)
{
    ms_json_value list, v;
    uint32_t count = 0;
    if (!ms_json_find(root, "modules", &list))
        return MS_OK;
    ms_status status = ms_json_expect(list, MS_JSON_ARRAY, err);
    uint32_t length = ms_json_length(list);
    r->groups = ms_arena_array(r->arena, ms_recorded_group, length);
    if (status == MS_OK && !r->groups)
        status = ms_fail(err, MS_ERR_NOMEM, "out of memory for a report");
    for (bool more = status == MS_OK && ms_json_first(list, &v); more && status == MS_OK;
         more = ms_json_next(&v))
        status = read_group(r, v, &r->groups[count++], err);
    if (status != MS_OK)
        return status;
    qsort(r->groups, count, sizeof *r->groups, by_name);
    r->group_count = join(r->groups, count);
    qsort(r->groups, r->group_count, sizeof *r->groups, by_bytes);
    return MS_OK;
}
