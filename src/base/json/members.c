/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json/members.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdalign.h>
#include <string.h>

static const ms_member plain_texts[] = {{.name = "", .at = {0, sizeof(char *), MS_MEMBER_TEXT}}};
const ms_members ms_plain_texts = MS_MEMBERS(char *, plain_texts, .is_plain = true);

/* ---- a member's place in its struct ---- */

static uint64_t load(ms_member_place place, const void *row)
{
    const char *at = (const char *)row + place.offset;
    uint64_t wide = 0;
    uint32_t word = 0;
    uint16_t half = 0;
    switch (place.size) {
    case sizeof wide:
        return memcpy(&wide, at, sizeof wide), wide;
    case sizeof word:
        return memcpy(&word, at, sizeof word), word;
    case sizeof half:
        return memcpy(&half, at, sizeof half), half;
    default:
        return *(const uint8_t *)at;
    }
}

static void store(ms_member_place place, void *row, uint64_t value)
{
    char *at = (char *)row + place.offset;
    const uint32_t word = (uint32_t)value;
    const uint16_t half = (uint16_t)value;
    const uint8_t byte = (uint8_t)value;
    switch (place.size) {
    case sizeof value:
        memcpy(at, &value, sizeof value);
        break;
    case sizeof word:
        memcpy(at, &word, sizeof word);
        break;
    case sizeof half:
        memcpy(at, &half, sizeof half);
        break;
    default:
        memcpy(at, &byte, sizeof byte);
    }
}

uint64_t ms_member_count(const ms_member *m, const void *row)
{
    return load(m->at, row);
}

static double load_number(ms_member_place place, const void *row)
{
    double number;
    memcpy(&number, (const char *)row + place.offset, sizeof number);
    return number;
}

static const void *load_pointer(ms_member_place place, const void *row)
{
    const void *pointer;
    memcpy(&pointer, (const char *)row + place.offset, sizeof pointer);
    return pointer;
}

/* All bits of a count. */
static uint64_t all_of(ms_member_place place)
{
    return UINT64_MAX >> (64 - 8 * place.size);
}

static bool is_any(const ms_member *m, ms_member_place place, const void *row)
{
    switch ((ms_member_kind)place.kind) {
    case MS_MEMBER_NUMBER:
        return m->rules & MS_NONE_IS_NAN ? !isnan(load_number(place, row))
                                         : load_number(place, row) > 0;
    case MS_MEMBER_ROWS:
        return load(m->count, row) > 0;
    case MS_MEMBER_PART:
        return !(m->rules & MS_THROUGH) || load_pointer(place, row);
    case MS_MEMBER_TEXT:
        return load(place, row) != 0 &&
               !(m->rules & MS_NONE_IS_EMPTY && *(const char *)load_pointer(place, row) == '\0');
    case MS_MEMBER_CHARS:
        return ((const char *)row)[place.offset] != '\0';
    case MS_MEMBER_FIGURES:
    case MS_MEMBER_WRITTEN:
    case MS_MEMBER_CONSTANT:
        return true;
    case MS_MEMBER_NOTHING:
    case MS_MEMBER_COUNT:
    case MS_MEMBER_SIGNED:
    case MS_MEMBER_TRUTH:
    case MS_MEMBER_KINDS:
        break;
    }
    return load(place, row) != (m->rules & MS_NONE_IS_MAX ? all_of(place) : 0);
}

static bool is_there(const ms_member *m, const void *row)
{
    if (!(m->rules & (MS_OR_NULL | MS_IF_ANY)))
        return true;
    if (m->when.size == 0)
        return is_any(m, m->at, row);
    return m->when.kind == MS_MEMBER_NUMBER ? load_number(m->when, row) > 0
                                            : load(m->when, row) != 0;
}

/* ---- writing ---- */

static void write_member(ms_json_writer *w, const ms_member *m, const char *name, const void *row);

static void write_rows(ms_json_writer *w, const ms_member *m, const void *row)
{
    const char *item = m->rules & MS_INSIDE ? (const char *)row + m->at.offset
                                            : (const char *)load_pointer(m->at, row);
    const uint64_t count = load(m->count, row);
    const ms_members *inner = m->inner;
    const bool is_object = m->rules & MS_KEYED, is_inline = m->rules & MS_ON_LINE;
    (is_inline   ? is_object ? ms_json_object_inline : ms_json_array_inline
     : is_object ? ms_json_object
                 : ms_json_array)(w, m->name);
    for (uint64_t i = 0; i < count; i++, item += inner->row_bytes) {
        const char *key = is_object ? load_pointer(inner->items[0].at, item) : NULL;
        if (inner->is_plain) {
            write_member(w, &inner->items[is_object], key, item);
            continue;
        }
        const ms_members rest = {.items = inner->items + is_object,
                                 .count = inner->count - is_object};
        (inner->is_inline ? ms_json_object_inline : ms_json_object)(w, key);
        ms_members_write(w, &rest, item);
        ms_json_close(w);
    }
    ms_json_close(w);
}

static void write_figures(ms_json_writer *w, const ms_member *m, const void *row)
{
    (m->rules & MS_ON_LINE ? ms_json_object_inline : ms_json_object)(w, m->name);
    for (uint32_t i = 0; i < m->words->count; i++) {
        const uint16_t size = (uint16_t)(m->at.size / m->words->count);
        const ms_member figure = {.name = ms_words_at(m->words, i),
                                  .at = {(uint16_t)(m->at.offset + i * size), size, m->count.kind},
                                  .decimals = m->decimals};
        ms_members_write(w, &(ms_members){.items = &figure, .count = 1}, row);
    }
    ms_json_close(w);
}

static void write_part(ms_json_writer *w, const ms_member *m, const void *row)
{
    alignas(max_align_t) char made[MS_MADE_MOST] = {0};
    const void *part =
        m->rules & MS_THROUGH ? load_pointer(m->at, row) : (const char *)row + m->at.offset;
    assert(m->inner->row_bytes <= sizeof made || !(m->make || m->make_of));
    if (m->make)
        m->make(part, made);
    else if (m->make_of)
        m->make_of(w->document, part, made);
    if (m->make || m->make_of)
        part = made;
    if (m->name)
        (m->inner->is_inline ? ms_json_object_inline : ms_json_object)(w, m->name);
    ms_members_write(w, m->inner, part);
    if (m->name)
        ms_json_close(w);
}

static void write_number(ms_json_writer *w, const ms_member *m, const char *name, const void *row)
{
    double number = load_number(m->at, row);
    number = m->times > 0 ? m->times * number : m->per > 0 ? number / m->per : number;
    ms_json_double(w, name, number, m->decimals);
}

static void write_member(ms_json_writer *w, const ms_member *m, const char *name, const void *row)
{
    switch ((ms_member_kind)m->at.kind) {
    case MS_MEMBER_COUNT:
        if (m->words)
            ms_json_string(w, name, ms_words_at(m->words, load(m->at, row)));
        else
            ms_json_uint(w, name, load(m->at, row));
        break;
    case MS_MEMBER_SIGNED:
        ms_json_int(w, name, (int64_t)load(m->at, row));
        break;
    case MS_MEMBER_NUMBER:
        write_number(w, m, name, row);
        break;
    case MS_MEMBER_TRUTH:
        ms_json_bool(w, name, load(m->at, row) != 0);
        break;
    case MS_MEMBER_TEXT:
        ms_json_string(w, name, load_pointer(m->at, row));
        break;
    case MS_MEMBER_PART:
        write_part(w, m, row);
        break;
    case MS_MEMBER_ROWS:
        write_rows(w, m, row);
        break;
    case MS_MEMBER_FIGURES:
        write_figures(w, m, row);
        break;
    case MS_MEMBER_CHARS:
        ms_json_string(w, name, (const char *)row + m->at.offset);
        break;
    case MS_MEMBER_CONSTANT:
        ms_json_string(w, name, m->text);
        break;
    case MS_MEMBER_WRITTEN:
        m->write(w, name, row);
        break;
    case MS_MEMBER_NOTHING:
    case MS_MEMBER_KINDS:
        break;
    }
}

static const void *follow(uint16_t from, const void *row)
{
    return from ? load_pointer((ms_member_place){.offset = (uint16_t)(from - 1)}, row) : row;
}

void ms_members_write(ms_json_writer *w, const ms_members *members, const void *whole)
{
    for (uint32_t i = 0; i < members->count; i++) {
        const ms_member *m = &members->items[i];
        const void *row = follow(m->via, follow(m->from, whole));
        const char *name = members->is_plain ? NULL : m->name;
        if (is_there(m, row))
            write_member(w, m, name, row);
        else if (m->rules & MS_OR_NULL)
            ms_json_null(w, name);
    }
}

bool ms_members_document(FILE *out, const char *version, const ms_members *members, const void *row)
{
    ms_json_writer w = {.out = out, .document = row};
    ms_json_object(&w, NULL);
    if (version)
        ms_json_string(&w, "schema_version", version);
    ms_members_write(&w, members, row);
    ms_json_close(&w);
    ms_json_writer_end(&w);
    return true;
}

/* ---- reading ---- */

static ms_status no_memory(const ms_members_reading *r)
{
    return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for %s", r->what);
}

static ms_status read_count(const ms_members_reading *r, const ms_member *m, ms_json_value v,
                            void *row)
{
    uint64_t count = 0;
    ms_status status =
        ms_json_get_count(v, m->least, m->most ? m->most : all_of(m->at), &count, r->err);
    if (status == MS_OK && m->check)
        status = r->check(r, m, v, count, row);
    if (status == MS_OK)
        store(m->at, row, count);
    return status;
}

static ms_status read_word(const ms_members_reading *r, const ms_member *m, ms_json_value v,
                           void *row)
{
    const char *text = "";
    ms_status status = ms_json_get_string(v, &text, r->err);
    const uint32_t found = ms_words_find(m->words, text);
    if (status == MS_OK && (found == m->words->count || (m->most > 0 && found > m->most)))
        return ms_json_fail(r->err, v, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "no such %s in %s", m->name,
                            r->what);
    store(m->at, row, found);
    return status;
}

static ms_status read_number(const ms_members_reading *r, const ms_member *m, ms_json_value v,
                             void *row)
{
    static const double most = 1e15; /* more is taken as a mistake */
    double number = 0;
    ms_status status =
        ms_json_get_number(v, m->least, m->most ? (double)m->most : most, &number, r->err);
    memcpy((char *)row + m->at.offset, &number, sizeof number);
    return status;
}

static ms_status read_truth(const ms_members_reading *r, const ms_member *m, ms_json_value v,
                            void *row)
{
    bool truth = false;
    ms_status status = ms_json_get_bool(v, &truth, r->err);
    store(m->at, row, truth);
    return status;
}

static ms_status read_text(const ms_members_reading *r, const ms_member *m, ms_json_value v,
                           void *row)
{
    const char *text = NULL;
    ms_status status = ms_json_get_string(v, &text, r->err);
    if (status == MS_OK && r->text && (text = r->text(r->arena, text)) == NULL)
        return no_memory(r);
    memcpy((char *)row + m->at.offset, &text, sizeof text);
    return status;
}

/* Room for the structs of a list or behind a pointer; those in the struct itself have theirs. */
static void *make_room(const ms_members_reading *r, const ms_member *m, size_t count, void *row)
{
    void *at = (char *)row + m->at.offset;
    if (m->rules & MS_INSIDE || !(m->rules & MS_THROUGH || m->at.kind == MS_MEMBER_ROWS))
        return at;
    void *made = ms_arena_alloc(r->arena, count, m->inner->row_bytes);
    memcpy(at, &made, sizeof made);
    return made;
}

static ms_status read_rows(const ms_members_reading *r, const ms_member *m, ms_json_value list,
                           void *row)
{
    ms_json_value v;
    ms_status status = ms_json_expect(list, MS_JSON_ARRAY, r->err);
    const uint32_t length = status == MS_OK ? ms_json_length(list) : 0;
    if (status == MS_OK && m->check)
        status = r->check(r, m, list, length, row);
    if (status == MS_OK && m->most > 0 && length > m->most)
        return ms_json_fail(r->err, list, MS_JSON_AT_KEY, MS_ERR_LIMIT,
                            "more than %" PRIu64 " rows", m->most);
    if (status != MS_OK)
        return status;
    char *item = make_room(r, m, length, row);
    if (!item)
        return no_memory(r);
    for (bool more = ms_json_first(list, &v); more && status == MS_OK;
         more = ms_json_next(&v), item += m->inner->row_bytes)
        status = ms_members_read(r, m->inner, v, item);
    store(m->count, row, status == MS_OK ? length : 0);
    return status;
}

static ms_status read_part(const ms_members_reading *r, const ms_member *m, ms_json_value object,
                           void *row)
{
    void *part = make_room(r, m, 1, row);
    return part ? ms_members_read(r, m->inner, object, part) : no_memory(r);
}

typedef ms_status read_fn(const ms_members_reading *r, const ms_member *m, ms_json_value v,
                          void *row);
static read_fn *const readers[MS_MEMBER_KINDS] = {
    [MS_MEMBER_COUNT] = read_count, [MS_MEMBER_NUMBER] = read_number,
    [MS_MEMBER_TRUTH] = read_truth, [MS_MEMBER_TEXT] = read_text,
    [MS_MEMBER_PART] = read_part,   [MS_MEMBER_ROWS] = read_rows,
};

static ms_status read_member(const ms_members_reading *r, const ms_member *m, ms_json_value v,
                             void *row)
{
    return m->words ? read_word(r, m, v, row) : readers[m->at.kind](r, m, v, row);
}

/* Absent or null, the member stays as it is, or gets what stands for none. */
static ms_status read_if_any(const ms_members_reading *r, const ms_member *m, ms_json_value object,
                             void *row)
{
    ms_json_value v;
    if (m->make || m->make_of || m->from || !readers[m->at.kind])
        return MS_OK;
    if (!m->name)
        return read_part(r, m, object, row);
    const bool is_found = ms_json_find(object, m->name, &v);
    if (!is_found && !(m->rules & (MS_IF_ANY | MS_LATER)))
        return ms_json_get_member(object, m->name, &v, r->err); /* says that it is missing */
    if (!is_found || (m->rules & MS_OR_NULL && ms_json_kind_of(v) == MS_JSON_NULL)) {
        if (m->rules & MS_NONE_IS_MAX)
            store(m->at, row, all_of(m->at));
        return MS_OK;
    }
    if (m->when.kind == MS_MEMBER_TRUTH)
        store(m->when, row, true);
    return read_member(r, m, v, row);
}

ms_status ms_members_read(const ms_members_reading *r, const ms_members *members,
                          ms_json_value object, void *row)
{
    if (members->is_plain)
        return read_member(r, &members->items[0], object, row);
    ms_status status = ms_json_expect(object, MS_JSON_OBJECT, r->err);
    for (uint32_t i = 0; i < members->count && status == MS_OK; i++)
        status = read_if_any(r, &members->items[i], object, row);
    return status;
}
