/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json/yaml.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/json/document.h"
#include "base/json/number.h"
#include "base/json/place.h"
#include "base/json/string.h"
#include "base/json/scan.h"
#include "base/json/toml.h"
#include "base/utf8.h"

typedef struct ms_yaml_anchor {
    char *name;
    uint32_t index;
    uint32_t height;   /* of the containers in it */
    const cJSON *tree; /* NULL: not complete yet */
} ms_yaml_anchor;

typedef struct ms_yaml_builder {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one; deleted when has_event */
    bool has_event;
    ms_json *document;
    ms_vec(ms_yaml_anchor) anchors;
    size_t characters, bytes; /* one position as both, for yaml_byte_of */
    size_t end;               /* where the last scalar or bracket ended */
    uint32_t depth, deepest;
    uint32_t open; /* the span being filled, for the pointer of a message */
    ms_error *err;
} ms_yaml_builder;
#define ms_yaml_fail_event(b, status, ...)                                                         \
    yaml_fail((b), yaml_event_start(b), yaml_event_bytes(b), (status), __VA_ARGS__)

static __attribute__((format(printf, 5, 6))) ms_status yaml_fail(const ms_yaml_builder *b,
                                                                 size_t at, size_t bytes,
                                                                 ms_status status,
                                                                 const char *format, ...);

/* ---- yaml builder ---- */

/* A YAML document under construction: libyaml's events and their positions in the text. */

static bool is_inside_character(const ms_json_source *source, size_t at)
{
    return at < source->length && ((unsigned char)source->text[at] & 0xc0) == 0x80;
}

static /* libyaml counts characters. From the place that was asked for last, which is near. */
    size_t
    yaml_byte_of(ms_yaml_builder *b, const yaml_mark_t *mark)
{
    const ms_json_source *source = &b->document->source;
    for (; b->characters < mark->index && b->bytes < source->length; b->characters++)
        do
            b->bytes++;
        while (is_inside_character(source, b->bytes));
    for (; b->characters > mark->index && b->bytes > 0; b->characters--)
        do
            b->bytes--;
        while (b->bytes > 0 && is_inside_character(source, b->bytes));
    return b->bytes;
}

/* Record a failure: at a position; at the current event; out of memory. */
static ms_status yaml_fail(const ms_yaml_builder *b, size_t at, size_t bytes, ms_status status,
                           const char *format, ...)
{
    ms_error *err = b->err;
    const ms_json *document = b->document;
    if (!err || err->status != MS_OK)
        return status;
    va_list args;
    va_start(args, format);
    ms_error_vset(err, status, format, args);
    va_end(args);
    if (document->spans.count > 0)
        ms_json_pointer(&document->source, &document->spans, b->open, err->pointer,
                        sizeof err->pointer);
    ms_json_place(&document->source, at, bytes, err);
    return status;
}

static size_t yaml_event_start(ms_yaml_builder *b)
{
    return yaml_byte_of(b, &b->event.start_mark);
}

static size_t yaml_event_bytes(ms_yaml_builder *b)
{
    size_t start = yaml_event_start(b);
    return yaml_byte_of(b, &b->event.end_mark) - start;
}

static ms_status yaml_fail_memory(const ms_yaml_builder *b)
{
    return ms_fail(b->err, MS_ERR_NOMEM, "out of memory for %s", b->document->source.name);
}

static ms_status fail_parser(ms_yaml_builder *b)
{
    const yaml_parser_t *p = &b->parser;
    if (p->error == YAML_MEMORY_ERROR)
        return yaml_fail_memory(b);
    if (p->error == YAML_READER_ERROR)
        return yaml_fail(b, p->problem_offset, 1, MS_ERR_SYNTAX, "%s", p->problem);
    return yaml_fail(b, yaml_byte_of(b, &p->problem_mark), 1, MS_ERR_SYNTAX, "%s%s%s",
                     p->context ? p->context : "", p->context ? ": " : "",
                     p->problem ? p->problem : "no YAML");
}

/* Advances to the next event and deletes the previous one. */
static ms_status yaml_step(ms_yaml_builder *b)
{
    if (b->has_event)
        yaml_event_delete(&b->event);
    b->has_event = yaml_parser_parse(&b->parser, &b->event) != 0;
    return b->has_event ? MS_OK : fail_parser(b);
}

/* ---- yaml scalar ---- */

static bool is_one_of(const char *text, const char *const *words)
{
    while (*words && strcmp(*words, text) != 0)
        words++;
    return *words != NULL;
}

/* JSON's grammar. */
static bool is_json_number(const char *text)
{
    const char *p = text + (*text == '-');
    size_t digits = strspn(p, "0123456789");
    if (digits == 0 || (digits > 1 && *p == '0'))
        return false;
    p += digits;
    if (*p == '.') {
        digits = strspn(p + 1, "0123456789");
        if (digits == 0)
            return false;
        p += 1 + digits;
    }
    if (*p == 'e' || *p == 'E') {
        p += 1 + (p[1] == '+' || p[1] == '-');
        digits = strspn(p, "0123456789");
        if (digits == 0)
            return false;
        p += digits;
    }
    size_t bytes = (size_t)(p - text);
    return *p == '\0' && bytes <= MS_JSON_MAX_NUMBER_BYTES && ms_number_is_finite(text, bytes);
}

/* YAML 1.1 groups the digits of a whole number: 500_000. */
static bool ungroup(const char *text, char json[MS_JSON_MAX_NUMBER_BYTES + 4])
{
    size_t bytes = 0;
    const char *digits = text + (*text == '-');
    if (!strchr(text, '_') || strspn(digits, "0123456789_") != strlen(digits) || *digits == '_')
        return false;
    for (; *text; text++)
        if (*text != '_')
            json[bytes++] = *text;
    json[bytes] = '\0';
    return is_json_number(json);
}

/* Whether it is a number: as JSON has it, or ".5" and "1.", which get zeros in `json`. */
static bool is_number(const char *text, char json[MS_JSON_MAX_NUMBER_BYTES + 4])
{
    const char *point = strchr(text, '.');
    size_t bytes = strlen(text);
    if (bytes > MS_JSON_MAX_NUMBER_BYTES)
        return false;
    memcpy(json, text, bytes + 1);
    if (is_json_number(json) || !point)
        return is_json_number(json) || ungroup(text, json);
    bool is_first = point == text + (*text == '-');
    bool is_last = !ms_is_digit(point[1]);
    snprintf(json, MS_JSON_MAX_NUMBER_BYTES + 4, "%.*s%s.%s%s", (int)(point - text), text,
             is_first ? "0" : "", is_last ? "0" : "", point + 1);
    return !(is_first && is_last) && is_json_number(json);
}

cJSON *ms_yaml_plain(const char *text, ms_json_kind *kind)
{
    char json[MS_JSON_MAX_NUMBER_BYTES + 4];
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", "yes", "Yes",
                                        "YES",  "on",   "On",   "ON",  NULL};
    static const char *const falses[] = {"false", "False", "FALSE", "no",  "No",
                                         "NO",    "off",   "Off",   "OFF", NULL};
    *kind = MS_JSON_NULL;
    if (is_one_of(text, nulls))
        return cJSON_CreateNull();
    *kind = MS_JSON_BOOL;
    if (is_one_of(text, trues))
        return cJSON_CreateTrue();
    if (is_one_of(text, falses))
        return cJSON_CreateFalse();
    *kind = MS_JSON_NUMBER;
    if (is_number(text, json))
        return cJSON_Parse(json);
    *kind = MS_JSON_STRING;
    return cJSON_CreateString(text);
}

/* ---- yaml ---- */

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
    b->end = yaml_event_start(b) + yaml_event_bytes(b);
    span->bytes = (uint32_t)(b->end - span->start);
    return *tree ? MS_OK : yaml_fail_memory(b);
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
    return yaml_fail_memory(b);
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
        return yaml_fail(b, span.start + span.key_start, 1, MS_ERR_LIMIT, "more than %d values",
                         MS_YAML_MAX_VALUES);
    return ms_vec_push(spans, span) ? MS_OK : yaml_fail_memory(b);
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
    b->end = yaml_event_start(b) + yaml_event_bytes(b);
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
        return yaml_fail_memory(b);
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
        status = yaml_fail_memory(b);
    if (status != MS_OK)
        cJSON_Delete(child);
    return status;
}

static ms_status read_item(ms_yaml_builder *b, uint32_t parent, uint32_t item, cJSON *container)
{
    uint32_t index;
    ms_json_span span = {.start = (uint32_t)yaml_event_start(b), .parent = parent, .item = item};
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
        return yaml_fail_memory(b);
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
        status =
            yaml_fail(b, spans->items[twice->span].key_start, spans->items[twice->span].key_bytes,
                      MS_ERR_SYNTAX, "key %.40s appears twice", twice->key);
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
    size_t start = yaml_event_start(b), bytes = yaml_event_bytes(b);
    ms_json_span span = {.key_start = (uint32_t)(start + quoted),
                         .key_bytes = (uint32_t)(bytes > 2 && quoted ? bytes - 2 : bytes),
                         .parent = parent,
                         .item = item,
                         .is_raw = true};
    char *key = strdup(text);
    if (!key)
        return yaml_fail_memory(b);
    status = add_span(b, span, &index);
    if (status == MS_OK) {
        b->open = index;
        status = yaml_step(b);
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
        ms_status status = yaml_step(b);
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
    b->end = yaml_event_start(b);
    *tree = is_object ? cJSON_CreateObject() : cJSON_CreateArray();
    ms_status status =
        *tree ? read_children(b, index,
                              is_object ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT, *tree)
              : yaml_fail_memory(b);
    if (status != MS_OK)
        return status;
    b->depth--;
    if (is_flow)
        b->end = yaml_event_start(b) + yaml_event_bytes(b);
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
    size_t start = yaml_event_start(b), end = start + yaml_event_bytes(b);
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
    ms_status status = yaml_step(b); /* the start of the text */
    if (status == MS_OK)
        status = yaml_step(b); /* of the document */
    if (status == MS_OK && b->event.type == YAML_STREAM_END_EVENT)
        return yaml_fail(b, 0, 1, MS_ERR_SYNTAX, "only white space");
    if (status == MS_OK)
        status = yaml_step(b);
    if (status == MS_OK)
        status = add_span(b, (ms_json_span){0}, &index);
    if (status == MS_OK)
        status = read_value(b, index, &b->document->tree);
    if (status == MS_OK)
        status = yaml_step(b); /* its end */
    if (status == MS_OK)
        status = yaml_step(b);
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
        return yaml_fail(b, 0, 1, MS_ERR_SYNTAX, MS_UTF16_REFUSED);
    if (!yaml_parser_initialize(&b->parser))
        return yaml_fail_memory(b);
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
        status = yaml_fail_memory(&b);
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
