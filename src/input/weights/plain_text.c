/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/weights/plain_text.h"

/* Of eight bytes at a time: a bit pattern with one in each, and the highest bit of each. */
static const uint64_t ones = UINT64_MAX / 255, highs = UINT64_MAX / 255 << 7;

/* The first byte is the lowest. */
static uint64_t in_order(uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* Eight bytes, or fewer: the others are 0. */
static uint64_t word_of(const char *text, size_t bytes)
{
    uint64_t word = 0;
    if (bytes >= sizeof word)
        memcpy(&word, text, sizeof word); /* of a length that the compiler knows */
    else
        memcpy(&word, text, bytes);
    return in_order(word);
}

static uint64_t extend(uint64_t digest, uint64_t word)
{
    digest = (digest ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return digest ^ digest >> 32;
}

static uint64_t finish(uint64_t digest, size_t bytes)
{
    return extend(digest, bytes);
}

uint64_t ms_plain_digest(const char *text, size_t bytes)
{
    uint64_t digest = 0;
    for (size_t i = 0; i < bytes; i += sizeof digest)
        digest = extend(digest, word_of(text + i, bytes - i));
    return finish(digest, bytes);
}

/* The highest bit of each byte that is a quote; those above the first may be wrong. */
static uint64_t quotes(uint64_t word)
{
    uint64_t zeros = word ^ ones * '"';
    return (zeros - ones) & ~zeros & highs;
}

/* Whether any byte is above 127, below 32, or a backslash; bytes of 0 count. */
static bool is_special(uint64_t word)
{
    uint64_t zeros = word ^ ones * '\\';
    return (word | (word - ones * ' ') | ((zeros - ones) & ~zeros)) & highs;
}

bool ms_plain_take_string(ms_plain *s, ms_plain_string *string)
{
    if (!MS_PLAIN_TAKE(s, "\""))
        return false;
    *string = (ms_plain_string){.text = s->at};
    for (const char *at = s->at; at < s->end; at += sizeof(uint64_t)) {
        size_t left = (size_t)(s->end - at), bytes = left < sizeof(uint64_t) ? left : 8;
        uint64_t word = word_of(at, bytes), quote = quotes(word);
        if (quote)
            bytes = (size_t)__builtin_ctzll(quote) / 8;
        uint64_t unused = bytes < 8 ? UINT64_MAX << (8 * bytes) : 0;
        if (is_special((word & ~unused) | (ones * ' ' & unused)))
            return false;
        if (bytes > 0)
            string->digest = extend(string->digest, word & ~unused);
        string->bytes += bytes;
        if (quote) {
            s->at = at + bytes + 1;
            string->digest = finish(string->digest, string->bytes);
            return true;
        }
    }
    return false;
}

bool ms_plain_take_count(ms_plain *s, uint64_t *count)
{
    enum { MOST_DIGITS = 19 };
    const char *first = s->at;
    uint64_t number = 0;
    const char *at = first;
    for (; at < s->end && *at >= '0' && *at <= '9'; at++)
        number = number * 10 + (uint64_t)(*at - '0');
    size_t digits = (size_t)(at - first);
    s->at = at;
    *count = number;
    return digits == 1 || (digits > 1 && digits < MOST_DIGITS && *first != '0');
}

bool ms_plain_take_colon(ms_plain *s)
{
    ms_plain_skip_blanks(s);
    if (!MS_PLAIN_TAKE(s, ":"))
        return false;
    ms_plain_skip_blanks(s);
    return true;
}
