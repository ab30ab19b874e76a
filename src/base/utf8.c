/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/utf8.h"

#include <inttypes.h>
#include <string.h>

#include "memscope/error.h"

/* ---- printable ---- */

/* Code points that a terminal, a log or a parser obeys, or that nobody sees: control characters,
 * zero-width spaces, marks that change the direction of text, line separators, tags. */
static const struct range {
    uint32_t first, last;
} hidden[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},     {0x180e, 0x180e},
    {0x200b, 0x200b}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},   {0xfdd0, 0xfdef},
    {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe007f},
};

static bool is_hidden(uint32_t code)
{
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        if (code >= hidden[i].first && code <= hidden[i].last)
            return true;
    return code > 0xffff && (code & 0xfffe) == 0xfffe; /* no characters */
}

/* A second colon where a line may begin: two are a command to GitHub's runner. What comes before
 * may be a space of any script. */
static bool begins_command(const char *text, const char *at)
{
    if (*at != ':' || at == text || at[-1] != ':')
        return false;
    unsigned char before = at - 1 == text ? ' ' : (unsigned char)at[-2];
    return before <= ' ' || before >= 0x7f;
}

/* A second '#' before letters and '[': a command to several runners, anywhere in a line. */
static bool begins_old_command(const char *text, const char *at, const char *end)
{
    if (*at != '#' || at == text || at[-1] != '#')
        return false;
    do
        at++;
    while (at < end && ((*at | 0x20) >= 'a' && (*at | 0x20) <= 'z'));
    return at < end && *at == '[';
}

static void write_code(uint32_t code, char out[12])
{
    const char *letter = code == '\n' ? "n" : code == '\r' ? "r" : code == '\t' ? "t" : NULL;
    if (letter)
        snprintf(out, 12, "\\%s", letter);
    else if (code < 0x80)
        snprintf(out, 12, "\\x%02" PRIx32, code);
    else
        snprintf(out, 12, code > 0xffff ? "\\U%08" PRIx32 : "\\u%04" PRIx32, code);
}

ms_shown ms_show(const char *text, const char *at, const char *end)
{
    unsigned char byte = (unsigned char)*at;
    ms_shown shown = {.bytes = 1, .is_unchanged = true};
    if (byte >= ' ' && byte < 0x7f && byte != ':' && byte != '#') /* nearly always */
        return shown;
    size_t length = ms_utf8_length(at, (size_t)(end - at));
    if (length == 0) {
        shown.is_unchanged = false;
        snprintf(shown.text, sizeof shown.text, "\\x%02x", byte);
        return shown;
    }
    uint32_t code = ms_utf8_code(at, length);
    shown.bytes = length;
    shown.is_unchanged =
        !is_hidden(code) && !begins_command(text, at) && !begins_old_command(text, at, end);
    if (!shown.is_unchanged)
        write_code(code, shown.text);
    return shown;
}

size_t ms_printable(const char *text, char *out, size_t size)
{
    size_t needed = 0, used = 0;
    const char *end = text ? text + strlen(text) : NULL;
    for (const char *at = text; at < end;) {
        ms_shown shown = ms_show(text, at, end);
        size_t length = shown.is_unchanged ? shown.bytes : strlen(shown.text);
        if (used == needed && used + length < size) {
            memcpy(out + used, shown.is_unchanged ? at : shown.text, length);
            used += length;
        }
        needed += length;
        at += shown.bytes;
    }
    if (size > 0)
        out[used] = '\0';
    return needed;
}

static void put_escaped(FILE *out, char character, const ms_escape *escapes)
{
    while (escapes->character && escapes->character != character)
        escapes++;
    if (escapes->character)
        fputs(escapes->text, out);
    else
        fputc(character, out);
}

void ms_put_escaped(FILE *out, const char *text, const char *from, const char *to,
                    const ms_escape *escapes)
{
    const char *end = to + strlen(to);
    for (const char *at = from; at < to;) {
        ms_shown shown = ms_show(text, at, end);
        const char *put = shown.is_unchanged ? at : shown.text;
        size_t length = shown.is_unchanged ? shown.bytes : strlen(shown.text);
        at += shown.bytes;
        if (!escapes)
            fwrite(put, 1, length, out);
        for (size_t i = 0; escapes && i < length; i++)
            put_escaped(out, put[i], escapes);
    }
}

void ms_put_printable(FILE *out, const char *text)
{
    ms_put_escaped(out, text, text, text + strlen(text), NULL);
}

/* ---- utf8 ---- */

/* Lead bytes past ASCII and the second bytes they allow (Unicode 15, table 3-7). */
static const struct lead_row {
    unsigned char first, last, second_low, second_high, length;
} lead_rows[] = {
    {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
    {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
    {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

size_t ms_utf8_length(const char *text, size_t left)
{
    const unsigned char *bytes = (const unsigned char *)text;
    if (left > 0 && bytes[0] < 0x80) /* nearly always */
        return 1;
    for (size_t i = 0; left > 0 && i < sizeof lead_rows / sizeof lead_rows[0]; i++) {
        const struct lead_row *row = &lead_rows[i];
        if (bytes[0] < row->first || bytes[0] > row->last)
            continue;
        if (row->length > left)
            return 0;
        if (bytes[1] < row->second_low || bytes[1] > row->second_high)
            return 0;
        for (size_t k = 2; k < row->length; k++)
            if (bytes[k] < 0x80 || bytes[k] > 0xbf)
                return 0;
        return row->length;
    }
    return 0;
}

size_t ms_utf8_count(const char *text, size_t bytes)
{
    size_t count = 0;
    while (bytes > 0) {
        size_t length = ms_utf8_length(text, bytes);
        length = length ? length : 1;
        text += length;
        bytes -= length;
        count++;
    }
    return count;
}

uint32_t ms_utf8_code(const char *text, size_t length)
{
    uint32_t code = (unsigned char)*text & (length > 1 ? 0xffu >> (length + 1) : 0x7f);
    for (size_t i = 1; i < length; i++)
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    return code;
}

size_t ms_utf8_put(char *out, uint32_t code)
{
    static const unsigned char marks[] = {0, 0x00, 0xc0, 0xe0, 0xf0};
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(unsigned char)(0x80 | (code & 0x3f));
    out[0] = (char)(unsigned char)(marks[length] | code);
    return length;
}

bool ms_utf16_is(const char *text, size_t bytes)
{
    return bytes >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0);
}
