/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/utf8.h"

#include <string.h>

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
