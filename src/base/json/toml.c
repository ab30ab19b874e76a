/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json/toml.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/json/document.h"
#include "base/json/number.h"
#include "base/json/place.h"
#include "base/json/string.h"

typedef struct reader {
    ms_json *document;
    size_t at;
    uint32_t open; /* the span being filled, for the pointer of a message */
    ms_error *err;
} reader;

/* ---- failures ---- */

__attribute__((format(printf, 5, 6))) static ms_status
fail(const reader *r, size_t at, size_t bytes, ms_status status, const char *format, ...)
{
    ms_json *document = r->document;
    if (!r->err || r->err->status != MS_OK)
        return status;
    va_list args;
    va_start(args, format);
    ms_error_vset(r->err, status, format, args);
    va_end(args);
    if (document->spans.count > 0)
        ms_json_pointer(&document->source, &document->spans, r->open, r->err->pointer,
                        sizeof r->err->pointer);
    ms_json_place(&document->source, at, bytes, r->err);
    return status;
}

static ms_status fail_here(const reader *r, const char *what)
{
    return fail(r, r->at, 1, MS_ERR_SYNTAX, "%s", what);
}

static ms_status fail_memory(const reader *r)
{
    return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for %s", r->document->source.name);
}

/* ---- characters ---- */

/* NUL behind the end. */
static char peek(const reader *r)
{
    const ms_json_source *source = &r->document->source;
    return r->at < source->length ? source->text[r->at] : '\0';
}

static bool is_at_end(const reader *r)
{
    return r->at >= r->document->source.length;
}

static bool is_bare(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || ms_is_digit(c) || c == '_' ||
           c == '-';
}

static void skip_blanks(reader *r)
{
    while (peek(r) == ' ' || peek(r) == '\t')
        r->at++;
}

static void skip_comment(reader *r)
{
    skip_blanks(r);
    if (peek(r) == '#')
        while (!is_at_end(r) && peek(r) != '\n')
            r->at++;
}

/* Blanks, comments and ends of lines. */
static void skip_lines(reader *r)
{
    for (skip_comment(r); peek(r) == '\n' || peek(r) == '\r'; skip_comment(r))
        r->at++;
}

static ms_status end_line(reader *r)
{
    skip_comment(r);
    if (peek(r) == '\r')
        r->at++;
    return is_at_end(r) || peek(r) == '\n' ? MS_OK : fail_here(r, "expected the end of the line");
}

/* ---- spans ---- */

static ms_status add_span(reader *r, ms_json_span span, uint32_t *index)
{
    ms_json_spans *spans = &r->document->spans;
    *index = spans->count;
    span.after = *index + 1;
    if (*index >= MS_TOML_MAX_VALUES)
        return fail(r, r->at, 1, MS_ERR_LIMIT, "more than %d values", MS_TOML_MAX_VALUES);
    return ms_vec_push(spans, span) ? MS_OK : fail_memory(r);
}

/* What ends here ends its parents too. */
static void close_span(reader *r, uint32_t index)
{
    ms_json_spans *spans = &r->document->spans;
    spans->items[index].bytes = (uint32_t)(r->at - spans->items[index].start);
    for (uint32_t i = index;; i = spans->items[i].parent) {
        spans->items[i].after = spans->count;
        if (spans->items[i].parent == i)
            break;
    }
}

/* ---- scalars ---- */

/* A text of one line: with JSON's escapes, or without any. */
static ms_status read_text(reader *r, cJSON **tree)
{
    const char *text = r->document->source.text;
    char quote = peek(r);
    size_t start = r->at++;
    for (; peek(r) != quote; r->at++) {
        if (is_at_end(r) || peek(r) == '\n')
            return fail(r, start, 1, MS_ERR_SYNTAX, "a text without an end");
        if (quote == '"' && peek(r) == '\\')
            r->at++;
    }
    r->at++;
    if (r->at > r->document->source.length)
        return fail(r, start, 1, MS_ERR_SYNTAX, "a text without an end");
    if (quote == '"' || r->at - start == 2) {
        *tree = r->at - start == 2 ? cJSON_CreateString("")
                                   : cJSON_ParseWithLength(text + start, r->at - start);
        if (*tree && cJSON_IsString(*tree) && peek(r) != quote)
            return MS_OK;
        cJSON_Delete(*tree);
        *tree = NULL;
        return fail(r, start, r->at - start, MS_ERR_SYNTAX, "a text that is not supported");
    }
    char *copy = strndup(text + start + 1, r->at - start - 2);
    *tree = copy ? cJSON_CreateString(copy) : NULL;
    free(copy);
    return *tree ? MS_OK : fail_memory(r);
}

/* A boolean, or a number in JSON's syntax. */
static ms_status read_word(reader *r, ms_json_kind *kind, cJSON **tree)
{
    char word[MS_JSON_MAX_NUMBER_BYTES + 1];
    const char *end = NULL;
    size_t start = r->at, used = 0;
    for (; is_bare(peek(r)) || peek(r) == '.' || peek(r) == '+' || peek(r) == ':'; r->at++) {
        if (used == sizeof word - 1)
            return fail(r, start, r->at - start, MS_ERR_SYNTAX, "a value that is too long");
        if (peek(r) != '_')
            word[used++] = peek(r);
    }
    word[used] = '\0';
    *kind = MS_JSON_BOOL;
    if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0) {
        *tree = cJSON_CreateBool(*word == 't');
        return *tree ? MS_OK : fail_memory(r);
    }
    *kind = MS_JSON_NUMBER;
    *tree = used ? cJSON_ParseWithOpts(word, &end, true) : NULL;
    if (*tree && cJSON_IsNumber(*tree) && ms_number_is_finite(word, used))
        return MS_OK;
    cJSON_Delete(*tree);
    *tree = NULL;
    return fail(r, start, used ? used : 1, MS_ERR_SYNTAX,
                "expected a text, a number, true, false or a list of these");
}

static ms_status read_scalar(reader *r, uint32_t index, cJSON **tree)
{
    ms_json_kind kind = MS_JSON_STRING;
    bool is_text = peek(r) == '"' || peek(r) == '\'';
    ms_status status = is_text ? read_text(r, tree) : read_word(r, &kind, tree);
    r->document->spans.items[index].kind = kind;
    close_span(r, index);
    return status;
}

/* ---- lists ---- */

static ms_status read_item(reader *r, uint32_t parent, uint32_t item, cJSON *list)
{
    uint32_t index;
    cJSON *tree = NULL;
    ms_json_span span = {.start = (uint32_t)r->at, .parent = parent, .item = item};
    ms_status status = add_span(r, span, &index);
    if (status == MS_OK)
        status = read_scalar(r, index, &tree);
    if (status == MS_OK && !cJSON_AddItemToArray(list, tree))
        status = fail_memory(r);
    if (status != MS_OK)
        cJSON_Delete(tree);
    return status;
}

static ms_status read_list(reader *r, uint32_t index, cJSON **tree)
{
    ms_status status = MS_OK;
    *tree = cJSON_CreateArray();
    if (!*tree)
        return fail_memory(r);
    r->document->spans.items[index].kind = MS_JSON_ARRAY;
    r->at++;
    for (uint32_t item = 0; status == MS_OK; item++) {
        skip_lines(r);
        if (peek(r) == ']')
            break;
        status = read_item(r, index, item, *tree);
        skip_lines(r);
        if (status == MS_OK && peek(r) == ',')
            r->at++;
        else if (status == MS_OK && peek(r) != ']')
            status = fail_here(r, "expected ',' or ']'");
    }
    r->at += status == MS_OK;
    close_span(r, index);
    return status;
}

/* ---- keys and sections ---- */

/* A bare key, or a section's name, which may have dots; copied. */
static ms_status read_name(reader *r, bool is_section, char **name)
{
    size_t start = r->at;
    while (is_bare(peek(r)) || (is_section && peek(r) == '.'))
        r->at++;
    if (r->at == start)
        return fail_here(r, is_section ? "expected the name of a section" : "expected a key");
    *name = strndup(r->document->source.text + start, r->at - start);
    return *name ? MS_OK : fail_memory(r);
}

/* Adds a member that is read from here, and takes the name. */
static ms_status add_member(reader *r, uint32_t parent, cJSON *object, const char *name,
                            uint32_t *index)
{
    size_t bytes = strlen(name);
    ms_json_span span = {.start = (uint32_t)r->at,
                         .key_start = (uint32_t)(r->at - bytes),
                         .key_bytes = (uint32_t)bytes,
                         .parent = parent,
                         .item = (uint32_t)cJSON_GetArraySize(object),
                         .is_raw = true};
    if (cJSON_GetObjectItemCaseSensitive(object, name))
        return fail(r, span.key_start, bytes, MS_ERR_SYNTAX, "%.40s appears twice", name);
    ms_status status = add_span(r, span, index);
    if (status == MS_OK)
        r->open = *index;
    return status;
}

static ms_status read_pair(reader *r, uint32_t parent, cJSON *object)
{
    char *name = NULL;
    uint32_t index = 0;
    cJSON *tree = NULL;
    ms_status status = read_name(r, false, &name);
    if (status == MS_OK && name)
        status = add_member(r, parent, object, name, &index);
    skip_blanks(r);
    if (status == MS_OK && peek(r) != '=')
        status = fail_here(r, "expected '='");
    if (status == MS_OK) {
        r->at++;
        skip_blanks(r);
        r->document->spans.items[index].start = (uint32_t)r->at;
        status = peek(r) == '[' ? read_list(r, index, &tree) : read_scalar(r, index, &tree);
    }
    if (status == MS_OK && !cJSON_AddItemToObject(object, name, tree))
        status = fail_memory(r);
    if (status != MS_OK)
        cJSON_Delete(tree);
    free(name);
    r->open = parent;
    return status == MS_OK ? end_line(r) : status;
}

/* "[name]"; what follows belongs to it. */
static ms_status read_section(reader *r, cJSON *root, uint32_t *section, cJSON **object)
{
    char *name = NULL;
    r->at++;
    r->open = 0;
    skip_blanks(r);
    ms_status status = read_name(r, true, &name);
    if (status == MS_OK && name)
        status = add_member(r, 0, root, name, section);
    skip_blanks(r);
    if (status == MS_OK && peek(r) != ']')
        status = fail_here(r, "expected ']'");
    if (status == MS_OK) {
        r->at++;
        r->document->spans.items[*section].kind = MS_JSON_OBJECT;
        close_span(r, *section);
        *object = cJSON_CreateObject();
        if (!*object || !cJSON_AddItemToObject(root, name, *object)) {
            cJSON_Delete(*object);
            status = fail_memory(r);
        }
    }
    free(name);
    return status == MS_OK ? end_line(r) : status;
}

static ms_status read_root(reader *r)
{
    uint32_t section = 0;
    cJSON *object = cJSON_CreateObject(), *root = object;
    r->document->tree = root;
    if (!root)
        return fail_memory(r);
    ms_status status = add_span(r, (ms_json_span){.kind = MS_JSON_OBJECT}, &section);
    for (skip_lines(r); status == MS_OK && !is_at_end(r); skip_lines(r))
        status = peek(r) == '[' ? read_section(r, root, &section, &object)
                                : read_pair(r, section, object);
    if (status == MS_OK)
        r->document->spans.items[0].bytes = (uint32_t)r->at;
    return status;
}

static ms_status parse(reader *r)
{
    const ms_json_source *source = &r->document->source;
    if (source->length > MS_TOML_MAX_BYTES) {
        ms_error_set(r->err, MS_ERR_LIMIT, "larger than %d KiB", MS_TOML_MAX_BYTES >> 10);
        return MS_ERR_LIMIT;
    }
    if (ms_utf16_is(source->text, source->length))
        return fail(r, 0, 1, MS_ERR_SYNTAX, MS_UTF16_REFUSED);
    if (memchr(source->text, '\0', source->length))
        return fail(r, 0, 1, MS_ERR_SYNTAX, "a NUL in the text");
    return read_root(r);
}

ms_status ms_toml_parse(const ms_json_source *source, ms_json **document, ms_error *err)
{
    reader r = {.document = calloc(1, sizeof(ms_json)), .err = err};
    if (!r.document)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %s", source->name);
    r.document->source = *source;
    ms_status status = parse(&r);
    if (status == MS_OK && !ms_json_marks_make(source, &r.document->marks))
        status = fail_memory(&r);
    if (status == MS_OK) {
        *document = r.document;
        return MS_OK;
    }
    if (err && !err->file[0])
        ms_json_place_file(source->name, err);
    ms_json_free(r.document);
    return status;
}
