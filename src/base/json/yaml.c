/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json/yaml.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/json/place.h"
#include "base/json/toml.h"
#include "base/json/yaml_builder.h"
#include "base/json/yaml_scalar.h"

const char *ms_yaml_version(void)
{
    return yaml_get_version_string();
}

/* ---- scalars ---- */

/* The text of the scalar that is looked at. */
static ms_status scalar_text(ms_yaml_builder *b, const char **text)
{
    *text = (const char *)b->event.data.scalar.value;
    if (b->event.data.scalar.tag)
        return ms_yaml_fail_event(b, MS_ERR_SYNTAX, "a tag; tags are not supported");
    if (memchr(*text, '\0', b->event.data.scalar.length))
        return ms_yaml_fail_event(b, MS_ERR_SYNTAX, "a NUL in a text");
    return MS_OK;
}

static ms_status read_scalar(ms_yaml_builder *b, ms_json_span *span, cJSON **tree)
{
    const char *text;
    ms_status status = scalar_text(b, &text);
    if (status != MS_OK)
        return status;
    span->kind = MS_JSON_STRING;
    *tree = b->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? ms_yaml_plain(text, &span->kind)
                                                                  : cJSON_CreateString(text);
    b->end = ms_yaml_event_start(b) + ms_yaml_event_bytes(b);
    span->bytes = (uint32_t)(b->end - span->start);
    return *tree ? MS_OK : ms_yaml_fail_memory(b);
}

/* ---- anchors ---- */

/* Puts down the name of what is looked at, if it has one; it can be repeated once it is whole. */
static ms_status open_anchor(ms_yaml_builder *b, uint32_t index, const char *name)
{
    if (!name)
        return MS_OK;
    if (b->anchors.count == MS_YAML_MAX_ANCHORS)
        return ms_yaml_fail_event(b, MS_ERR_LIMIT, "more than %d anchors", MS_YAML_MAX_ANCHORS);
    ms_yaml_anchor anchor = {.name = strdup(name), .index = index};
    if (anchor.name && ms_vec_push(&b->anchors, anchor))
        return MS_OK;
    free(anchor.name);
    return ms_yaml_fail_memory(b);
}

/* The last one of that name counts. */
static const ms_yaml_anchor *find_anchor(const ms_yaml_builder *b, const char *name)
{
    for (uint32_t i = b->anchors.count; i > 0; i--)
        if (b->anchors.items[i - 1].tree && strcmp(b->anchors.items[i - 1].name, name) == 0)
            return &b->anchors.items[i - 1];
    return NULL;
}

static ms_status add_span(ms_yaml_builder *b, ms_json_span span, uint32_t *index)
{
    ms_json_spans *spans = &b->document->spans;
    *index = spans->count;
    if (*index >= MS_YAML_MAX_VALUES)
        return ms_yaml_fail(b, span.start + span.key_start, 1, MS_ERR_LIMIT, "more than %d values",
                            MS_YAML_MAX_VALUES);
    return ms_vec_push(spans, span) ? MS_OK : ms_yaml_fail_memory(b);
}

/* What an alias names, once more; its places are those of the anchor. */
static ms_status read_alias(ms_yaml_builder *b, uint32_t index, cJSON **tree)
{
    const char *name = (const char *)b->event.data.alias.anchor;
    const ms_yaml_anchor *from = find_anchor(b, name);
    ms_json_spans *spans = &b->document->spans;
    if (!from)
        return ms_yaml_fail_event(b, MS_ERR_SYNTAX,
                                  "no complete value before it has the anchor '%.40s'", name);
    if (b->depth + from->height > MS_JSON_MAX_NESTING)
        return ms_yaml_fail_event(b, MS_ERR_LIMIT, "nested deeper than %d", MS_JSON_MAX_NESTING);
    if (b->depth + from->height > b->deepest)
        b->deepest = b->depth + from->height;
    const ms_json_span first = spans->items[from->index];
    uint32_t shift = index - from->index, ignored;
    b->end = ms_yaml_event_start(b) + ms_yaml_event_bytes(b);
    for (uint32_t i = from->index + 1; i < first.after; i++) {
        ms_json_span copy = spans->items[i];
        copy.parent += shift;
        copy.after += shift;
        ms_status status = add_span(b, copy, &ignored);
        if (status != MS_OK)
            return status;
    }
    ms_json_span *span = &spans->items[index];
    span->start = first.start;
    span->bytes = first.bytes;
    span->kind = first.kind;
    *tree = cJSON_Duplicate(from->tree, true);
    if (!*tree)
        return ms_yaml_fail_memory(b);
    cJSON_free((*tree)->string); /* the key it had where it came from */
    (*tree)->string = NULL;
    return MS_OK;
}

/* ---- containers ---- */

static ms_status read_value(ms_yaml_builder *b, uint32_t index, cJSON **tree);

/* Adds a child; it belongs to the container then. */
static ms_status read_child(ms_yaml_builder *b, uint32_t index, uint32_t parent, const char *key,
                            cJSON *container)
{
    cJSON *child = NULL;
    b->open = index;
    ms_status status = read_value(b, index, &child);
    b->document->spans.items[index].after = b->document->spans.count;
    b->open = parent;
    if (status == MS_OK && !(key ? cJSON_AddItemToObject(container, key, child)
                                 : cJSON_AddItemToArray(container, child)))
        status = ms_yaml_fail_memory(b);
    if (status != MS_OK)
        cJSON_Delete(child);
    return status;
}

static ms_status read_item(ms_yaml_builder *b, uint32_t parent, uint32_t item, cJSON *container)
{
    uint32_t index;
    ms_json_span span = {.start = (uint32_t)ms_yaml_event_start(b), .parent = parent, .item = item};
    ms_status status = add_span(b, span, &index);
    return status == MS_OK ? read_child(b, index, parent, NULL, container) : status;
}

/* The key that is looked at. */
static ms_status check_key(ms_yaml_builder *b, const char *key)
{
    if (strcmp(key, "<<") == 0)
        return ms_yaml_fail_event(b, MS_ERR_SYNTAX, "a merge key; write out its keys");
    return MS_OK;
}

typedef struct key_row {
    const char *key;
    uint32_t span;
} key_row;

static int compare_keys(const void *left, const void *right)
{
    const key_row *a = left, *b = right;
    int found = strcmp(a->key, b->key);
    return found ? found : (a->span > b->span) - (a->span < b->span);
}

/* No key of an object may appear twice; the error is at the first repeated one. */
static ms_status check_twice(ms_yaml_builder *b, uint32_t index, const cJSON *container,
                             uint32_t count)
{
    const ms_json_spans *spans = &b->document->spans;
    key_row *rows = calloc((size_t)count + 1, sizeof *rows);
    const key_row *twice = NULL;
    if (!rows)
        return ms_yaml_fail_memory(b);
    uint32_t span = index + 1, used = 0;
    for (const cJSON *child = container->child; child; child = child->next) {
        rows[used++] = (key_row){child->string, span};
        span = spans->items[span].after;
    }
    qsort(rows, used, sizeof *rows, compare_keys);
    for (uint32_t i = 1; i < used; i++)
        if (strcmp(rows[i].key, rows[i - 1].key) == 0 && (!twice || rows[i].span < twice->span))
            twice = &rows[i];
    ms_status status = MS_OK;
    if (twice)
        status = ms_yaml_fail(b, spans->items[twice->span].key_start,
                              spans->items[twice->span].key_bytes, MS_ERR_SYNTAX,
                              "key %.40s appears twice", twice->key);
    free(rows);
    return status;
}

static ms_status read_member(ms_yaml_builder *b, uint32_t parent, uint32_t item, cJSON *container)
{
    uint32_t index;
    const char *text;
    if (b->event.type != YAML_SCALAR_EVENT)
        return ms_yaml_fail_event(b, MS_ERR_SYNTAX, "a key that is not text");
    ms_status status = scalar_text(b, &text);
    if (status == MS_OK)
        status = check_key(b, text);
    if (status != MS_OK)
        return status;
    bool quoted = b->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    size_t start = ms_yaml_event_start(b), bytes = ms_yaml_event_bytes(b);
    ms_json_span span = {.key_start = (uint32_t)(start + quoted),
                         .key_bytes = (uint32_t)(bytes > 2 && quoted ? bytes - 2 : bytes),
                         .parent = parent,
                         .item = item,
                         .is_raw = true};
    char *key = strdup(text);
    if (!key)
        return ms_yaml_fail_memory(b);
    status = add_span(b, span, &index);
    if (status == MS_OK) {
        b->open = index;
        status = ms_yaml_step(b);
    }
    if (status == MS_OK)
        status = read_child(b, index, parent, key, container);
    free(key);
    return status;
}

static ms_status read_children(ms_yaml_builder *b, uint32_t index, yaml_event_type_t last,
                               cJSON *container)
{
    for (uint32_t item = 0;; item++) {
        ms_status status = ms_yaml_step(b);
        if (status == MS_OK && b->event.type == last)
            return last == YAML_MAPPING_END_EVENT ? check_twice(b, index, container, item) : MS_OK;
        if (status != MS_OK)
            return status;
        status = last == YAML_MAPPING_END_EVENT ? read_member(b, index, item, container)
                                                : read_item(b, index, item, container);
        if (status != MS_OK)
            return status;
    }
}

static ms_status read_container(ms_yaml_builder *b, uint32_t index, cJSON **tree)
{
    bool is_object = b->event.type == YAML_MAPPING_START_EVENT;
    bool is_flow = is_object ? b->event.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE
                             : b->event.data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE;
    if (is_object ? b->event.data.mapping_start.tag : b->event.data.sequence_start.tag)
        return ms_yaml_fail_event(b, MS_ERR_SYNTAX, "a tag; tags are not supported");
    if (b->depth == MS_JSON_MAX_NESTING)
        return ms_yaml_fail_event(b, MS_ERR_LIMIT, "nested deeper than %d", MS_JSON_MAX_NESTING);
    if (++b->depth > b->deepest)
        b->deepest = b->depth;
    b->end = ms_yaml_event_start(b);
    *tree = is_object ? cJSON_CreateObject() : cJSON_CreateArray();
    ms_status status =
        *tree ? read_children(b, index,
                              is_object ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT, *tree)
              : ms_yaml_fail_memory(b);
    if (status != MS_OK)
        return status;
    b->depth--;
    if (is_flow)
        b->end = ms_yaml_event_start(b) + ms_yaml_event_bytes(b);
    ms_json_span *span = &b->document->spans.items[index];
    span->kind = is_object ? MS_JSON_OBJECT : MS_JSON_ARRAY;
    span->bytes = b->end > span->start ? (uint32_t)(b->end - span->start) : 0;
    return MS_OK;
}

static const char *anchor_of(const yaml_event_t *event)
{
    const yaml_char_t *name =
        event->type == YAML_SCALAR_EVENT           ? event->data.scalar.anchor
        : event->type == YAML_MAPPING_START_EVENT  ? event->data.mapping_start.anchor
        : event->type == YAML_SEQUENCE_START_EVENT ? event->data.sequence_start.anchor
                                                   : NULL;
    return (const char *)name;
}

/* Where the value itself starts, after "&name". */
static size_t value_start(ms_yaml_builder *b)
{
    const ms_json_source *source = &b->document->source;
    const char *name = anchor_of(&b->event);
    size_t start = ms_yaml_event_start(b), end = start + ms_yaml_event_bytes(b);
    start += name ? 1 + strlen(name) : 0;
    while (name && start < end && start < source->length && strchr(" \t\r\n", source->text[start]))
        start++;
    return start < end ? start : end;
}

/* Reads what is looked at into an added span. `*tree` may be there after a failure too. */
static ms_status read_value(ms_yaml_builder *b, uint32_t index, cJSON **tree)
{
    ms_json_span *span = &b->document->spans.items[index];
    uint32_t outside = b->deepest, depth = b->depth, anchor = b->anchors.count;
    bool has_anchor = anchor_of(&b->event) != NULL;
    span->start = (uint32_t)value_start(b);
    b->deepest = depth;
    ms_status status = open_anchor(b, index, anchor_of(&b->event));
    if (status == MS_OK)
        status = b->event.type == YAML_ALIAS_EVENT    ? read_alias(b, index, tree)
                 : b->event.type == YAML_SCALAR_EVENT ? read_scalar(b, span, tree)
                                                      : read_container(b, index, tree);
    b->document->spans.items[index].after = b->document->spans.count;
    if (status == MS_OK && has_anchor) {
        b->anchors.items[anchor].tree = *tree;
        b->anchors.items[anchor].height = b->deepest - depth;
    }
    if (outside > b->deepest)
        b->deepest = outside;
    return status;
}

/* ---- documents ---- */

static ms_status read_document(ms_yaml_builder *b)
{
    uint32_t index;
    ms_status status = ms_yaml_step(b); /* the start of the text */
    if (status == MS_OK)
        status = ms_yaml_step(b); /* of the document */
    if (status == MS_OK && b->event.type == YAML_STREAM_END_EVENT)
        return ms_yaml_fail(b, 0, 1, MS_ERR_SYNTAX, "only white space");
    if (status == MS_OK)
        status = ms_yaml_step(b);
    if (status == MS_OK)
        status = add_span(b, (ms_json_span){0}, &index);
    if (status == MS_OK)
        status = read_value(b, index, &b->document->tree);
    if (status == MS_OK)
        status = ms_yaml_step(b); /* its end */
    if (status == MS_OK)
        status = ms_yaml_step(b);
    if (status == MS_OK && b->event.type != YAML_STREAM_END_EVENT)
        return ms_yaml_fail_event(b, MS_ERR_SYNTAX, "a second document");
    return status;
}

static ms_status parse(ms_yaml_builder *b)
{
    const ms_json_source *source = &b->document->source;
    if (source->length > MS_YAML_MAX_BYTES) {
        ms_error_set(b->err, MS_ERR_LIMIT, "larger than %d KiB", MS_YAML_MAX_BYTES >> 10);
        return MS_ERR_LIMIT;
    }
    if (ms_utf16_is(source->text, source->length))
        return ms_yaml_fail(b, 0, 1, MS_ERR_SYNTAX, MS_UTF16_REFUSED);
    if (!yaml_parser_initialize(&b->parser))
        return ms_yaml_fail_memory(b);
    yaml_parser_set_encoding(&b->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&b->parser, (const unsigned char *)source->text, source->length);
    ms_status status = read_document(b);
    if (b->has_event)
        yaml_event_delete(&b->event);
    yaml_parser_delete(&b->parser);
    for (uint32_t i = 0; i < b->anchors.count; i++)
        free(b->anchors.items[i].name);
    ms_vec_free(&b->anchors);
    return status;
}

ms_status ms_yaml_parse(const ms_json_source *source, ms_json **document, ms_error *err)
{
    ms_yaml_builder b = {.document = calloc(1, sizeof(ms_json)), .err = err};
    if (!b.document)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %s", source->name);
    b.document->source = *source;
    ms_status status = parse(&b);
    if (status == MS_OK && !ms_json_marks_make(source, &b.document->marks))
        status = ms_yaml_fail_memory(&b);
    if (status == MS_OK) {
        *document = b.document;
        return MS_OK;
    }
    if (err && !err->file[0])
        ms_json_place_file(source->name, err);
    ms_json_free(b.document);
    return status;
}

static bool ends_in(const char *name, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);
    return length >= tail && strcmp(name + length - tail, end) == 0;
}

ms_status ms_json_or_yaml_parse(const ms_json_source *source, ms_json **document, ms_error *err)
{
    size_t at = 0;
    if (ends_in(source->name, ".toml"))
        return ms_toml_parse(source, document, err);
    while (at < source->length && strchr(" \t\r\n", source->text[at]) && source->text[at])
        at++;
    bool is_json = at < source->length && strchr("{[", source->text[at]);
    bool is_yaml = ends_in(source->name, ".yaml") || ends_in(source->name, ".yml") || !is_json;
    return is_yaml && !ends_in(source->name, ".json") ? ms_yaml_parse(source, document, err)
                                                      : ms_json_parse(source, document, err);
}
