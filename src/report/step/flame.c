/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The peak as a flame graph: model, modules, category. Folded text for flamegraph.pl and similar
 * tools, and a file for speedscope.app.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/json/write.h"
#include "report/kit/writer_list.h"
#include "report/view/view.h"

typedef struct leaf {
    uint32_t scope; /* MS_NONE: outside modules */
    uint32_t category;
    uint64_t bytes;
} leaf;

static int by_place(const void *a, const void *b)
{
    const leaf *x = a, *y = b;
    if (x->scope != y->scope)
        return x->scope < y->scope ? -1 : 1;
    return (x->category > y->category) - (x->category < y->category);
}

/* One leaf for each module and category, in order; on the heap. NULL: out of memory. */
static leaf *collect(const ms_view *view, uint32_t *count)
{
    const ms_ledger *ledger = view->ledger;
    const ms_trace *trace = &ledger->simulation->trace;
    uint32_t all = ledger->peak->storages.count;
    leaf *leaves = calloc((size_t)all + 1, sizeof *leaves);
    *count = 0;
    if (!leaves)
        return NULL;
    for (uint32_t i = 0; i < all; i++) {
        uint32_t id = ledger->peak->storages.items[i];
        const ms_storage *s = &trace->storages.items[id];
        leaves[i] = (leaf){s->scope, s->category, ledger->usage->block_bytes[id]};
    }
    qsort(leaves, all, sizeof *leaves, by_place);
    for (uint32_t i = 0; i < all; i++) {
        if (*count && by_place(&leaves[*count - 1], &leaves[i]) == 0)
            leaves[*count - 1].bytes += leaves[i].bytes;
        else
            leaves[(*count)++] = leaves[i];
    }
    return leaves;
}

enum { MOST_DEPTH = 16 };

static bool is_layer(const ms_trace *trace, uint32_t scope)
{
    const ms_scope *s = &trace->scopes.items[scope];
    return s->layer != MS_NONE && s->parent != MS_NONE &&
           trace->scopes.items[s->parent].layer == MS_NONE;
}

/* "layers.7" is one frame. In the view's arena; NULL: out of memory. */
static const char *frame_name(const ms_view *view, uint32_t scope)
{
    const ms_trace *trace = &view->ledger->simulation->trace;
    const ms_scope *s = &trace->scopes.items[scope];
    const char *name = trace->names.items[s->name];
    if (!is_layer(trace, scope))
        return name;
    return ms_arena_printf(view->arena, "%s.%s",
                           trace->names.items[trace->scopes.items[s->parent].name], name);
}

/* The frames of a module, outermost first; those without a name are omitted. */
static uint32_t path_of(const ms_trace *trace, uint32_t scope, uint32_t path[MOST_DEPTH])
{
    uint32_t count = 0;
    while (scope != MS_NONE && count < MOST_DEPTH) {
        const ms_scope *s = &trace->scopes.items[scope];
        if (*trace->names.items[s->name])
            path[count++] = scope;
        scope = is_layer(trace, scope) ? trace->scopes.items[s->parent].parent : s->parent;
    }
    for (uint32_t i = 0; i < count / 2; i++) {
        uint32_t other = path[i];
        path[i] = path[count - 1 - i];
        path[count - 1 - i] = other;
    }
    return count;
}

/* ---- folded ---- */

/* A semicolon would begin another frame. */
static void put_frame(FILE *out, const char *name)
{
    static const ms_escape escapes[] = {{';', "_"}, {'\0', NULL}};
    if (name)
        ms_put_escaped(out, name, name, name + strlen(name), escapes);
}

bool ms_report_folded(FILE *out, const ms_view *view)
{
    const ms_trace *trace = &view->ledger->simulation->trace;
    uint32_t count, path[MOST_DEPTH];
    leaf *leaves = collect(view, &count);
    for (uint32_t i = 0; leaves && i < count; i++) {
        uint32_t depth = path_of(trace, leaves[i].scope, path);
        if (leaves[i].bytes == 0)
            continue;
        put_frame(out, ms_view_model(view));
        for (uint32_t d = 0; d < depth; d++) {
            fputc(';', out);
            put_frame(out, frame_name(view, path[d]));
        }
        fprintf(out, ";%s %" PRIu64 "\n", ms_category_name((ms_category)leaves[i].category),
                leaves[i].bytes);
    }
    free(leaves);
    return leaves != NULL;
}

/* ---- speedscope ---- */

/* The frames are numbered: the model, categories, modules. */
static uint32_t scope_frame(uint32_t scope)
{
    return 1 + MS_CATEGORY_COUNT + scope;
}

static void write_frames(ms_json_writer *w, const ms_view *view)
{
    const ms_trace *trace = &view->ledger->simulation->trace;
    ms_json_object(w, "shared");
    ms_json_array(w, "frames");
    for (uint32_t i = 0; i < 1 + MS_CATEGORY_COUNT + trace->scopes.count; i++) {
        uint32_t scope = i - 1 - MS_CATEGORY_COUNT;
        ms_json_object_inline(w, NULL);
        ms_json_string(w, "name",
                       i == 0                   ? ms_view_model(view)
                       : i <= MS_CATEGORY_COUNT ? ms_category_name((ms_category)(i - 1))
                                                : frame_name(view, scope));
        ms_json_close(w);
    }
    ms_json_close(w);
    ms_json_close(w);
}

static void write_samples(ms_json_writer *w, const ms_trace *trace, const leaf *leaves,
                          uint32_t count)
{
    uint32_t path[MOST_DEPTH];
    ms_json_array(w, "samples");
    for (uint32_t i = 0; i < count; i++) {
        uint32_t depth = path_of(trace, leaves[i].scope, path);
        ms_json_array_inline(w, NULL);
        ms_json_uint(w, NULL, 0);
        for (uint32_t d = 0; d < depth; d++)
            ms_json_uint(w, NULL, scope_frame(path[d]));
        ms_json_uint(w, NULL, 1 + leaves[i].category);
        ms_json_close(w);
    }
    ms_json_close(w);
    ms_json_array(w, "weights");
    for (uint32_t i = 0; i < count; i++)
        ms_json_uint(w, NULL, leaves[i].bytes);
    ms_json_close(w);
}

bool ms_report_speedscope(FILE *out, const ms_view *view)
{
    uint32_t count;
    leaf *leaves = collect(view, &count);
    ms_json_writer w = {.out = out};
    if (!leaves)
        return false;
    ms_json_object(&w, NULL);
    ms_json_string(&w, "$schema", "https://www.speedscope.app/file-format-schema.json");
    ms_json_string(&w, "name", view->title);
    ms_json_string(&w, "exporter", "memscope " MS_VERSION);
    ms_json_uint(&w, "activeProfileIndex", 0);
    write_frames(&w, view);
    ms_json_array(&w, "profiles");
    ms_json_object(&w, NULL);
    ms_json_string(&w, "type", "sampled");
    ms_json_string(&w, "name", "alive at the peak");
    ms_json_string(&w, "unit", "bytes");
    ms_json_uint(&w, "startValue", 0);
    ms_json_uint(&w, "endValue", view->ledger->peak->bytes);
    write_samples(&w, &view->ledger->simulation->trace, leaves, count);
    ms_json_close(&w);
    ms_json_close(&w);
    ms_json_close(&w);
    ms_json_writer_end(&w);
    free(leaves);
    return true;
}
