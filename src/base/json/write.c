/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json/write.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/locale.h"
#include "base/utf8.h"

/* What stands for a character that JSON or a reader of logs would not take as it is. */
static void write_escaped(FILE *out, const char *at, size_t length)
{
    static const char short_escapes[] = "\"\"\\\\\bb\ff\nn\rr\tt"; /* pairs: byte, letter */
    for (const char *p = short_escapes; *p; p += 2)
        if (*p == *at) {
            fprintf(out, "\\%c", p[1]);
            return;
        }
    uint32_t code = ms_utf8_code(at, length);
    if (code > 0xffff)
        fprintf(out, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd7c0 + (code >> 10),
                0xdc00 + (code & 0x3ff));
    else
        fprintf(out, "\\u%04" PRIx32, code);
}

/* What ms_printable would change is escaped, so that no log or terminal obeys it; a byte that is
 * not UTF-8 becomes U+FFFD. */
static void write_quoted(FILE *out, const char *text)
{
    const char *end = text + strlen(text), *plain = text;
    fputc('"', out);
    for (const char *at = text; at < end;) {
        ms_shown shown = ms_show(text, at, end);
        if (shown.is_unchanged && *at != '"' && *at != '\\') {
            at += shown.bytes;
            continue;
        }
        fwrite(plain, 1, (size_t)(at - plain), out);
        size_t length = ms_utf8_length(at, (size_t)(end - at));
        if (length == 0)
            fputs("\\ufffd", out);
        else
            write_escaped(out, at, length);
        plain = at += shown.bytes;
    }
    fwrite(plain, 1, (size_t)(end - plain), out);
    fputc('"', out);
}

/* Everything that comes before a value: comma, line break, indentation, key. */
static void start_value(ms_json_writer *w, const char *key)
{
    if (w->depth == 0)
        return;
    uint32_t top = w->depth - 1;
    assert(w->is_object[top] == (key != NULL));
    if (w->has_items[top])
        fputs(w->on_one_line[top] ? ", " : ",", w->out);
    w->has_items[top] = true;
    if (!w->on_one_line[top])
        fprintf(w->out, "\n%*s", (int)(2 * w->depth), "");
    if (key) {
        write_quoted(w->out, key);
        fputs(": ", w->out);
    }
}

static void open_container(ms_json_writer *w, const char *key, bool is_object, bool on_one_line)
{
    assert(w->depth < MS_JSON_MAX_DEPTH);
    start_value(w, key);
    fputc(is_object ? '{' : '[', w->out);
    bool inherited = w->depth > 0 && w->on_one_line[w->depth - 1];
    w->is_object[w->depth] = is_object;
    w->has_items[w->depth] = false;
    w->on_one_line[w->depth] = on_one_line || inherited;
    w->depth++;
}

void ms_json_object(ms_json_writer *w, const char *key)
{
    open_container(w, key, true, false);
}

void ms_json_array(ms_json_writer *w, const char *key)
{
    open_container(w, key, false, false);
}

void ms_json_object_inline(ms_json_writer *w, const char *key)
{
    open_container(w, key, true, true);
}

void ms_json_array_inline(ms_json_writer *w, const char *key)
{
    open_container(w, key, false, true);
}

void ms_json_close(ms_json_writer *w)
{
    assert(w->depth > 0);
    uint32_t top = --w->depth;
    if (w->has_items[top] && !w->on_one_line[top])
        fprintf(w->out, "\n%*s", (int)(2 * top), "");
    fputc(w->is_object[top] ? '}' : ']', w->out);
}

void ms_json_string(ms_json_writer *w, const char *key, const char *text)
{
    if (!text) {
        ms_json_null(w, key);
        return;
    }
    start_value(w, key);
    write_quoted(w->out, text);
}

void ms_json_uint(ms_json_writer *w, const char *key, uint64_t value)
{
    start_value(w, key);
    fprintf(w->out, "%" PRIu64, value);
}

void ms_json_int(ms_json_writer *w, const char *key, int64_t value)
{
    start_value(w, key);
    fprintf(w->out, "%" PRId64, value);
}

void ms_json_double(ms_json_writer *w, const char *key, double value, int decimals)
{
    if (!isfinite(value)) {
        ms_json_null(w, key);
        return;
    }
    char digits[400]; /* DBL_MAX has 309 digits before the point */
    ms_text_print(digits, sizeof digits, "%.*f", decimals > 20 ? 20 : decimals, value);
    start_value(w, key);
    fputs(digits, w->out);
}

void ms_json_bool(ms_json_writer *w, const char *key, bool value)
{
    start_value(w, key);
    fputs(value ? "true" : "false", w->out);
}

void ms_json_null(ms_json_writer *w, const char *key)
{
    start_value(w, key);
    fputs("null", w->out);
}

void ms_json_writer_end(ms_json_writer *w)
{
    assert(w->depth == 0);
    fputc('\n', w->out);
}
