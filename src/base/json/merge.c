/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The merged document has a tree and spans of its own; an origin beside each span says which value
 * of which document it is, and text and places are those of the origin.
 */
#include "base/json/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/json/document.h"

/* One of the objects that are joined, lowest layer first. */
typedef struct side {
    ms_json_value object;
    const ms_json_layer *layer;
    const char *member; /* as of a layer */
} side;

typedef struct merging {
    ms_json *made;
    const ms_json_hiding *hiding;
    ms_error *err;
} merging;

/* The values of one name, lowest first; those of `sides` are joined if they are several. */
typedef struct same_name {
    side sides[MS_JSON_MOST_LAYERS];
    size_t count;
} same_name;

static ms_status fail_memory(const merging *m)
{
    return ms_fail(m->err, MS_ERR_NOMEM, "out of memory for joined settings");
}

/* ---- members of a side ---- */

static bool is_left_out(const side *s, const char *key)
{
    const char *const *out = s->layer->without;
    for (; out && *out; out++)
        if (strcmp(*out, key) == 0)
            return true;
    return false;
}

static bool find(const side *s, const char *key, ms_json_value *value)
{
    if (s->member) {
        *value = s->object;
        return strcmp(s->member, key) == 0;
    }
    return !is_left_out(s, key) && ms_json_find(s->object, key, value);
}

/* ---- spans ---- */

static ms_status add_span(const merging *m, ms_json_value value, uint32_t parent, uint32_t item,
                          uint32_t *index)
{
    const ms_json_span *from = &value.document->spans.items[value.span];
    ms_json_span span = *from;
    *index = m->made->spans.count;
    span.parent = parent;
    span.item = item;
    span.after = *index + 1;
    const ms_json_origin origin = {value.document, value.span};
    bool is_kept = ms_vec_push(&m->made->spans, span) && ms_vec_push(&m->made->origins, origin);
    return is_kept ? MS_OK : fail_memory(m);
}

/* A value with all that is in it, in the order of its document. */
static ms_status copy_spans(const merging *m, ms_json_value value, uint32_t parent, uint32_t item)
{
    const ms_json_span *from = value.document->spans.items;
    uint32_t index, end = from[value.span].after, first = m->made->spans.count;
    ms_status status = add_span(m, value, parent, item, &index);
    for (uint32_t i = value.span + 1; i < end && status == MS_OK; i++) {
        ms_json_value inner = {value.document, NULL, i};
        status = add_span(m, inner, first + (from[i].parent - value.span), from[i].item, &index);
        m->made->spans.items[m->made->spans.count - 1].after = first + (from[i].after - value.span);
    }
    m->made->spans.items[first].after = m->made->spans.count;
    return status;
}

static ms_status add_tree(const merging *m, cJSON *into, const char *key, cJSON *tree)
{
    if (tree && cJSON_AddItemToObject(into, key, tree))
        return MS_OK;
    cJSON_Delete(tree);
    return fail_memory(m);
}

/* ---- joining ---- */

static ms_status join(const merging *m, const side *sides, size_t count, uint32_t index,
                      cJSON *into);

static ms_status tell(const merging *m, const same_name *hidden, ms_json_value winner)
{
    ms_status status = MS_OK;
    for (size_t i = 0; m->hiding && i < hidden->count && status == MS_OK; i++)
        if (ms_json_kind_of(hidden->sides[i].object) != MS_JSON_NULL)
            status = m->hiding->tell(m->hiding->context, winner, hidden->sides[i].object, m->err);
    return status;
}

/* Collects what the sides from `from` on have of a name. */
static ms_status collect(const merging *m, const side *sides, size_t count, const char *key,
                         same_name *same)
{
    ms_status status = MS_OK;
    ms_json_value value;
    same->count = 0;
    for (size_t i = 0; i < count && status == MS_OK; i++) {
        const ms_json_layer *layer = sides[i].layer;
        if (!find(&sides[i], key, &value))
            continue;
        bool is_null = ms_json_kind_of(value) == MS_JSON_NULL && !layer->nulls_count;
        if (same->count > 0 && is_null)
            continue;
        bool joins = same->count > 0 && layer->is_deep &&
                     ms_json_kind_of(value) == MS_JSON_OBJECT &&
                     ms_json_kind_of(same->sides[0].object) == MS_JSON_OBJECT;
        if (same->count > 0 && !joins) {
            status = tell(m, same, value);
            same->count = 0;
        }
        same->sides[same->count++] = (side){value, layer, NULL};
    }
    return status;
}

static ms_status take(const merging *m, const same_name *same, const char *key, uint32_t parent,
                      uint32_t item, cJSON *into)
{
    uint32_t index;
    ms_json_value value = same->sides[0].object;
    if (same->count == 1) {
        ms_status status = copy_spans(m, value, parent, item);
        return status == MS_OK ? add_tree(m, into, key, cJSON_Duplicate(value.tree, true)) : status;
    }
    cJSON *object = cJSON_CreateObject();
    ms_status status = add_tree(m, into, key, object);
    if (status == MS_OK)
        status = add_span(m, value, parent, item, &index);
    return status == MS_OK ? join(m, same->sides, same->count, index, object) : status;
}

static bool has_lower(const side *sides, size_t count, const char *key)
{
    ms_json_value value;
    for (size_t i = 0; i < count; i++)
        if (find(&sides[i], key, &value))
            return true;
    return false;
}

static ms_status join_side(const merging *m, const side *sides, size_t count, size_t at,
                           uint32_t index, cJSON *into)
{
    const side *s = &sides[at];
    ms_status status = MS_OK;
    ms_json_value value = s->object;
    bool more = s->member || ms_json_first(s->object, &value);
    for (; more && status == MS_OK; more = !s->member && ms_json_next(&value)) {
        same_name same = {.count = 0};
        const char *key = s->member ? s->member : ms_json_key(value);
        if (is_left_out(s, key) || has_lower(sides, at, key))
            continue;
        status = collect(m, sides + at, count - at, key, &same);
        if (status == MS_OK)
            status = take(m, &same, key, index, (uint32_t)cJSON_GetArraySize(into), into);
    }
    return status;
}

static ms_status join(const merging *m, const side *sides, size_t count, uint32_t index,
                      cJSON *into)
{
    ms_status status = MS_OK;
    uint64_t members = 0;
    for (size_t i = 0; i < count; i++)
        members += sides[i].member ? 1 : ms_json_length(sides[i].object);
    if (members > MS_JSON_MOST_MERGED)
        return ms_json_fail(m->err, sides[0].object, MS_JSON_AT_VALUE, MS_ERR_LIMIT,
                            "more than %d keys to be read with those of other files",
                            MS_JSON_MOST_MERGED);
    for (size_t i = 0; i < count && status == MS_OK; i++)
        status = join_side(m, sides, count, i, index, into);
    m->made->spans.items[index].after = m->made->spans.count;
    return status;
}

static ms_status merge(const merging *m, const ms_json_layer *layers, size_t count)
{
    side sides[MS_JSON_MOST_LAYERS];
    uint32_t index;
    ms_status status = MS_OK;
    for (size_t i = 0; i < count && status == MS_OK; i++) {
        sides[i] = (side){layers[i].object, &layers[i], layers[i].member};
        status = ms_json_expect(layers[i].object, MS_JSON_OBJECT, m->err);
    }
    m->made->tree = cJSON_CreateObject();
    if (status == MS_OK && !m->made->tree)
        return fail_memory(m);
    if (status == MS_OK)
        status = add_span(m, layers[0].object, 0, 0, &index);
    return status == MS_OK ? join(m, sides, count, 0, m->made->tree) : status;
}

ms_status ms_json_merge(const ms_json_layer *layers, size_t count, const ms_json_hiding *hiding,
                        ms_json **merged, ms_error *err)
{
    const merging m = {calloc(1, sizeof(ms_json)), hiding, err};
    if (!m.made)
        return fail_memory(&m);
    if (count == 0 || count > MS_JSON_MOST_LAYERS) {
        ms_json_free(m.made);
        return ms_fail(err, MS_ERR_LIMIT, "more than %d files to be read together",
                       MS_JSON_MOST_LAYERS);
    }
    m.made->source = layers[0].object.document->source;
    ms_status status = merge(&m, layers, count);
    if (status == MS_OK)
        *merged = m.made;
    else
        ms_json_free(m.made);
    return status;
}

bool ms_json_is_merged(ms_json_value value)
{
    return value.document->origins.count > 0;
}
