/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cJSON's tree and the scanner's spans list the same values in the same order, so they are walked
 * side by side.
 */
#include "base/json/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/locale.h"
#include "base/json/document.h"
#include "base/json/number.h"
#include "base/json/place.h"
#include "base/json/string.h"

/* Longer values are named in messages, not shown. */
enum { LONGEST_SHOWN = 40 };

static const char *const kind_names[] = {
    [MS_JSON_NULL] = "null",       [MS_JSON_BOOL] = "true or false", [MS_JSON_NUMBER] = "a number",
    [MS_JSON_STRING] = "a string", [MS_JSON_ARRAY] = "a list",       [MS_JSON_OBJECT] = "an object",
};

const char *ms_json_version(void)
{
    return cJSON_Version();
}

static const ms_json_span *span_of(ms_json_value value)
{
    return &value.document->spans.items[value.span];
}

/* The value in the document whose text has it. */
static ms_json_value origin_of(ms_json_value value)
{
    const ms_json *document = value.document;
    if (document->origins.count == 0)
        return value;
    const ms_json_origin *origin = &document->origins.items[value.span];
    return (ms_json_value){origin->document, value.tree, origin->span};
}

ms_status ms_json_parse_within(const ms_json_source *source, size_t most_bytes, ms_json **document,
                               ms_error *err)
{
    ms_json *made = calloc(1, sizeof *made);
    if (!made)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %s", source->name);
    made->source = *source;
    ms_status status = ms_json_scan_within(source, most_bytes, &made->spans, err);
    if (status == MS_OK) {
        /* The scanner accepts less than cJSON does: what fails here is memory. */
        made->tree = cJSON_ParseWithLength(source->text, source->length);
        if (!made->tree || !ms_json_marks_make(source, &made->marks))
            status = ms_fail(err, MS_ERR_NOMEM, "out of memory for %s", source->name);
    }
    if (status != MS_OK) {
        ms_json_free(made);
        return status;
    }
    *document = made;
    return MS_OK;
}

ms_status ms_json_parse(const ms_json_source *source, ms_json **document, ms_error *err)
{
    return ms_json_parse_within(source, MS_JSON_MAX_BYTES, document, err);
}

void ms_json_free(ms_json *document)
{
    if (!document)
        return;
    cJSON_Delete(document->tree);
    ms_vec_free(&document->spans);
    ms_vec_free(&document->marks);
    ms_vec_free(&document->origins);
    free(document);
}

ms_json_value ms_json_root(const ms_json *document)
{
    return (ms_json_value){document, document->tree, 0};
}

ms_json_kind ms_json_kind_of(ms_json_value value)
{
    return span_of(value)->kind;
}

const char *ms_json_key(ms_json_value value)
{
    return value.tree->string ? value.tree->string : "";
}

const char *ms_json_file_name(ms_json_value value)
{
    return origin_of(value).document->source.name;
}

const char *ms_json_source_text(ms_json_value value, size_t *bytes)
{
    value = origin_of(value);
    const ms_json_span *span = span_of(value);
    const bool has_own = span->start != span->key_start || span->key_bytes == 0;
    const char *text = cJSON_IsTrue(value.tree) ? "true" : "false";
    *bytes = has_own || !cJSON_IsBool(value.tree) ? span->bytes : strlen(text);
    return has_own || !cJSON_IsBool(value.tree) ? value.document->source.text + span->start : text;
}

bool ms_json_first(ms_json_value container, ms_json_value *child)
{
    if (!container.tree->child)
        return false;
    *child = (ms_json_value){container.document, container.tree->child, container.span + 1};
    return true;
}

bool ms_json_next(ms_json_value *child)
{
    if (!child->tree->next)
        return false;
    *child = (ms_json_value){child->document, child->tree->next, span_of(*child)->after};
    return true;
}

uint32_t ms_json_length(ms_json_value container)
{
    ms_json_value v;
    uint32_t count = 0;
    for (bool more = ms_json_first(container, &v); more; more = ms_json_next(&v))
        count++;
    return count;
}

bool ms_json_find(ms_json_value object, const char *key, ms_json_value *member)
{
    ms_json_value v;
    if (ms_json_kind_of(object) != MS_JSON_OBJECT)
        return false;
    for (bool more = ms_json_first(object, &v); more; more = ms_json_next(&v))
        if (strcmp(ms_json_key(v), key) == 0) {
            *member = v;
            return true;
        }
    return false;
}

/* One step of a pointer, "/name" up to the next slash; names in our rules need no escapes. */
bool ms_json_find_pointer(ms_json_value value, const char *pointer, ms_json_value *found)
{
    while (*pointer == '/') {
        char key[128];
        size_t bytes = strcspn(pointer + 1, "/");
        if (bytes >= sizeof key)
            return false;
        memcpy(key, pointer + 1, bytes);
        key[bytes] = '\0';
        if (!ms_json_find(value, key, &value))
            return false;
        pointer += 1 + bytes;
    }
    *found = value;
    return true;
}

/* ---- failures ---- */

static void place(ms_error *err, ms_json_value value, ms_json_part part)
{
    value = origin_of(value);
    const ms_json *document = value.document;
    const ms_json_span *span = span_of(value);
    bool at_key = part == MS_JSON_AT_KEY && span->key_bytes > 0;
    ms_json_pointer(&document->source, &document->spans, value.span, err->pointer,
                    sizeof err->pointer);
    /* Of a long list or object the bracket is enough to find it. */
    bool is_container = span->kind == MS_JSON_ARRAY || span->kind == MS_JSON_OBJECT;
    bool bracket_only = is_container && span->bytes > LONGEST_SHOWN;
    if (at_key)
        ms_json_place_marked(&document->source, &document->marks, span->key_start, span->key_bytes,
                             err);
    else
        ms_json_place_marked(&document->source, &document->marks, span->start,
                             bracket_only ? 1 : span->bytes, err);
}

void ms_json_error_set(ms_error *err, ms_json_value value, ms_json_part part, ms_status status,
                       const char *format, ...)
{
    if (!err || err->status != MS_OK)
        return;
    va_list args;
    va_start(args, format);
    ms_error_vset(err, status, format, args);
    va_end(args);
    place(err, value, part);
}

/* "found 4.0" or, of long values, "found a list". */
static ms_status fail_found(ms_json_value value, const char *expected, ms_error *err)
{
    size_t bytes;
    const char *text = ms_json_source_text(value, &bytes);
    ms_json_kind kind = ms_json_kind_of(value);
    if (bytes == 0 || bytes > LONGEST_SHOWN || kind == MS_JSON_ARRAY || kind == MS_JSON_OBJECT) {
        text = kind_names[kind];
        bytes = strlen(text);
    }
    return ms_json_fail(err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "found %.*s, expected %s",
                        (int)bytes, text, expected);
}

ms_status ms_json_expect(ms_json_value value, ms_json_kind kind, ms_error *err)
{
    return ms_json_kind_of(value) == kind ? MS_OK : fail_found(value, kind_names[kind], err);
}

size_t ms_json_number_text(ms_json_value value, char text[MS_JSON_MAX_NUMBER_BYTES + 1])
{
    size_t bytes, length = 0;
    const char *source = ms_json_source_text(value, &bytes);
    for (size_t i = 0; i < bytes && length < MS_JSON_MAX_NUMBER_BYTES; i++)
        if (source[i] != '_')
            text[length++] = source[i];
    text[length] = '\0';
    return length;
}

ms_status ms_json_get_count(ms_json_value value, uint64_t minimum, uint64_t maximum,
                            uint64_t *count, ms_error *err)
{
    char text[MS_JSON_MAX_NUMBER_BYTES + 1];
    uint64_t number = 0;
    if (ms_json_kind_of(value) == MS_JSON_NUMBER &&
        ms_number_count(text, ms_json_number_text(value, text), &number) == MS_COUNT_OK &&
        number >= minimum && number <= maximum) {
        *count = number;
        return MS_OK;
    }
    char expected[96];
    snprintf(expected, sizeof expected, "a whole number from %" PRIu64 " to %" PRIu64, minimum,
             maximum);
    return fail_found(value, expected, err);
}

ms_status ms_json_get_number(ms_json_value value, double minimum, double maximum, double *number,
                             ms_error *err)
{
    double found = value.tree->valuedouble;
    if (ms_json_kind_of(value) == MS_JSON_NUMBER && found >= minimum && found <= maximum) {
        *number = found;
        return MS_OK;
    }
    char expected[96];
    ms_text_print(expected, sizeof expected, "a number from %g to %g", minimum, maximum);
    return fail_found(value, expected, err);
}

ms_status ms_json_get_bool(ms_json_value value, bool *truth, ms_error *err)
{
    ms_status status = ms_json_expect(value, MS_JSON_BOOL, err);
    if (status == MS_OK)
        *truth = cJSON_IsTrue(value.tree);
    return status;
}

ms_status ms_json_get_string(ms_json_value value, const char **text, ms_error *err)
{
    ms_status status = ms_json_expect(value, MS_JSON_STRING, err);
    if (status == MS_OK)
        *text = value.tree->valuestring;
    return status;
}

ms_status ms_json_get_member(ms_json_value object, const char *key, ms_json_value *member,
                             ms_error *err)
{
    ms_status status = ms_json_expect(object, MS_JSON_OBJECT, err);
    if (status != MS_OK || ms_json_find(object, key, member))
        return status;
    return ms_json_fail(err, object, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "\"%s\" is missing", key);
}

ms_status ms_json_get_list(ms_json_value object, const char *key, ms_json_value *list,
                           ms_error *err)
{
    ms_status status = ms_json_get_member(object, key, list, err);
    return status == MS_OK ? ms_json_expect(*list, MS_JSON_ARRAY, err) : status;
}
