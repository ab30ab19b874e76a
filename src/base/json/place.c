/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json/place.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Characters shown of a long line, and how much of it comes before the place: the bytes leave room
 * for the place itself where characters are wide. */
enum { WINDOW_CHARACTERS = 76, BEFORE_CHARACTERS = 40, BEFORE_BYTES = 60 };

/* Start of the character that ends before `at`, not before `first`. */
static const char *step_back(const char *first, const char *at)
{
    for (int length = 4; length > 1; length--)
        if (at - first >= length && ms_utf8_length(at - length, (size_t)length) == (size_t)length)
            return at - length;
    return at - 1;
}

/* Appends one character of the line, '?' for one that is not printable, so that columns stay; false
 * when it does not fit. Sets *bytes to its length in the source. */
static bool copy_character(const char *line, const char *at, const char *end, ms_error *err,
                           size_t *used, size_t *bytes)
{
    ms_shown shown = ms_show(line, at, end);
    const char *from = shown.is_unchanged ? at : *at == '\t' ? " " : "?";
    size_t length = shown.is_unchanged ? shown.bytes : 1;
    *bytes = shown.bytes;
    if (*used + length >= sizeof err->excerpt - 3)
        return false;
    memcpy(err->excerpt + *used, from, length);
    *used += length;
    return true;
}

static void fill_excerpt(const char *line, const char *at, const char *end, size_t bytes,
                         ms_error *err)
{
    const char *from = at;
    size_t before = 0;
    while (from > line && before < BEFORE_CHARACTERS && at - from < BEFORE_BYTES) {
        from = step_back(line, from);
        before++;
    }
    size_t used = 0, shown = 0, marked = 0;
    /* Indentation is dropped; an ellipsis marks omitted text. */
    if (from > line)
        used = (size_t)snprintf(err->excerpt, sizeof err->excerpt, "...");
    else
        while (from < at && (*from == ' ' || *from == '\t')) {
            from++;
            before--;
        }
    err->caret = (uint32_t)(used + before);
    for (size_t step; from < end && shown < WINDOW_CHARACTERS; from += step, shown++) {
        if (!copy_character(line, from, end, err, &used, &step))
            break;
        marked += from >= at && from < at + bytes;
    }
    err->excerpt[used] = '\0';
    if (from < end)
        snprintf(err->excerpt + used, sizeof err->excerpt - used, "...");
    err->caret_length = marked ? (uint32_t)marked : 1;
}

void ms_json_place_file(const char *name, ms_error *err)
{
    size_t length = strlen(name), room = sizeof err->file - 1;
    if (length <= room)
        snprintf(err->file, sizeof err->file, "%s", name);
    else
        snprintf(err->file, sizeof err->file, "...%s", name + length - room + 3);
}

/* Goes on to an offset, character by character. */
static void advance(const ms_json_source *source, ms_json_mark *mark, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        unsigned char byte = (unsigned char)source->text[i];
        mark->characters += (byte & 0xc0) != 0x80;
        if (byte == '\n')
            *mark = (ms_json_mark){.line = mark->line + 1, .line_start = (uint32_t)i + 1};
    }
}

bool ms_json_marks_make(const ms_json_source *source, ms_json_marks *marks)
{
    ms_json_mark mark = {.line = 1};
    for (size_t at = 0; at < source->length; at += MS_JSON_MARK_BYTES) {
        if (!ms_vec_push(marks, mark))
            return false;
        size_t end = at + MS_JSON_MARK_BYTES;
        advance(source, &mark, at, end < source->length ? end : source->length);
    }
    return true;
}

/* As far as an excerpt can reach. */
static const char *end_of_line(const ms_json_source *source, const char *at)
{
    size_t left = (size_t)(source->text + source->length - at);
    size_t most = (size_t)4 * (WINDOW_CHARACTERS + 1);
    const char *end = memchr(at, '\n', left < most ? left : most);
    if (!end)
        return at + (left < most ? left : most);
    return end > at && end[-1] == '\r' ? end - 1 : end;
}

static void show(const ms_json_source *source, const char *line, const char *at, size_t bytes,
                 ms_error *err)
{
    const char *end = end_of_line(source, at);
    ms_json_place_file(source->name, err);
    fill_excerpt(line, at, end, bytes, err);
}

void ms_json_place(const ms_json_source *source, size_t offset, size_t bytes, ms_error *err)
{
    if (!err)
        return;
    const char *at = source->text + (offset < source->length ? offset : source->length);
    const char *line = source->text;
    uint32_t number = 1;
    for (const char *p = source->text; p < at; p++)
        if (*p == '\n') {
            line = p + 1;
            number++;
        }
    err->line = number;
    err->column = (uint32_t)ms_utf8_count(line, (size_t)(at - line)) + 1;
    show(source, line, at, bytes, err);
}

void ms_json_place_marked(const ms_json_source *source, const ms_json_marks *marks, size_t offset,
                          size_t bytes, ms_error *err)
{
    size_t index = offset / MS_JSON_MARK_BYTES;
    if (!err || index >= marks->count || offset >= source->length) {
        ms_json_place(source, offset, bytes, err);
        return;
    }
    ms_json_mark mark = marks->items[index];
    advance(source, &mark, index * MS_JSON_MARK_BYTES, offset);
    err->line = mark.line;
    err->column = mark.characters + 1;
    show(source, source->text + mark.line_start, source->text + offset, bytes, err);
}
