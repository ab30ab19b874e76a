/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/kit/pickle.h"

#include <string.h>

#include "base/utf8.h"

enum {
    PROTO = 0x80,
    STOP = '.',
    MARK = '(',
    EMPTY_DICT = '}',
    SETITEMS = 'u',
    EMPTY_LIST = ']',
    APPENDS = 'e',
    SHORT_BINUNICODE = 0x8c,
    BINUNICODE = 'X',
    BININT1 = 'K',
    BININT2 = 'M',
    BININT = 'J',
    LONG1 = 0x8a,
    MEMOIZE = 0x94,
    BINGET = 'h',
    LONG_BINGET = 'j'
};

static void put(const ms_pickle *p, int byte)
{
    fputc(byte, p->out);
}

static void put_little_endian(const ms_pickle *p, uint64_t value, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++)
        put(p, (int)(value >> (8 * i) & 0xff));
}

void ms_pickle_begin(ms_pickle *p)
{
    put(p, PROTO);
    put(p, 4);
}

void ms_pickle_end(ms_pickle *p)
{
    put(p, STOP);
}

void ms_pickle_dict(ms_pickle *p)
{
    put(p, EMPTY_DICT);
    put(p, MARK);
}

void ms_pickle_end_dict(ms_pickle *p)
{
    put(p, SETITEMS);
}

void ms_pickle_list(ms_pickle *p)
{
    put(p, EMPTY_LIST);
    put(p, MARK);
}

void ms_pickle_next(ms_pickle *p, uint64_t index)
{
    if (index == 0 || index % MS_PICKLE_BATCH != 0)
        return;
    put(p, APPENDS);
    put(p, MARK);
}

void ms_pickle_end_list(ms_pickle *p)
{
    put(p, APPENDS);
}

/* Bytes that are not UTF-8 become U+FFFD. Returns the length; writes it when there is an output. */
static size_t put_characters(FILE *out, const char *text)
{
    static const char unknown[] = "\xef\xbf\xbd";
    size_t written = 0, length;
    for (size_t left = strlen(text); left > 0; text += length, left -= length) {
        size_t whole = ms_utf8_length(text, left);
        size_t bytes = whole ? whole : sizeof unknown - 1;
        length = whole ? whole : 1;
        if (out)
            fwrite(whole ? text : unknown, 1, bytes, out);
        written += bytes;
    }
    return written;
}

void ms_pickle_text(ms_pickle *p, const char *text)
{
    size_t length = put_characters(NULL, text);
    if (length < 256) {
        put(p, SHORT_BINUNICODE);
        put_little_endian(p, length, 1);
    } else {
        put(p, BINUNICODE);
        put_little_endian(p, length, 4);
    }
    put_characters(p->out, text);
}

void ms_pickle_uint(ms_pickle *p, uint64_t value)
{
    if (value < 256) {
        put(p, BININT1);
        put_little_endian(p, value, 1);
    } else if (value < 65536) {
        put(p, BININT2);
        put_little_endian(p, value, 2);
    } else if (value <= INT32_MAX) {
        put(p, BININT);
        put_little_endian(p, value, 4);
    } else { /* signed: a ninth byte keeps the largest positive */
        uint32_t bytes = value <= INT64_MAX ? 8 : 9;
        put(p, LONG1);
        put(p, (int)bytes);
        put_little_endian(p, value, 8);
        if (bytes == 9)
            put(p, 0);
    }
}

uint32_t ms_pickle_remember(ms_pickle *p)
{
    put(p, MEMOIZE);
    return p->memo_count++;
}

void ms_pickle_again(ms_pickle *p, uint32_t number)
{
    put(p, number < 256 ? BINGET : LONG_BINGET);
    put_little_endian(p, number, number < 256 ? 1 : 4);
}
