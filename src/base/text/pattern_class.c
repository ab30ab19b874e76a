/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/text/pattern_class.h"

#include <string.h>

/* The characters of \d, \w and \s; capital letters are the rest. */
static const struct class_row {
    char letter, other;
    const char *ranges; /* first and last characters in turn */
} classes[] = {{'d', 'D', "09"}, {'w', 'W', "AZaz09__"}, {'s', 'S', "\t\r  "}};

/* The classes that ECMAScript has within brackets. */
static const struct named_class {
    const char *name, *ranges;
} named_classes[] = {{"[:alnum:]", "AZaz09"}, {"[:alpha:]", "AZaz"}, {"[:digit:]", "09"},
                     {"[:lower:]", "az"},     {"[:upper:]", "AZ"},   {"[:space:]", "\t\r  "},
                     {"[:xdigit:]", "AFaf09"}};

void ms_byte_set_add_range(ms_byte_set *set, uint32_t first, uint32_t last)
{
    for (uint32_t byte = first; byte <= last; byte++)
        set->bits[byte / 8] |= (uint8_t)(1u << byte % 8);
}

static void add_ranges(ms_byte_set *set, const char *ranges)
{
    for (const char *p = ranges; *p; p += 2)
        ms_byte_set_add_range(set, (uint8_t)p[0], (uint8_t)p[1]);
}

void ms_byte_set_add_others(ms_byte_set *set, const ms_byte_set *of)
{
    for (size_t i = 0; i < sizeof set->bits; i++)
        set->bits[i] |= (uint8_t)~of->bits[i];
}

bool ms_byte_set_add_class(ms_byte_set *set, char letter)
{
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        ms_byte_set found = {{0}};
        if (letter != classes[i].letter && letter != classes[i].other)
            continue;
        add_ranges(&found, classes[i].ranges);
        if (letter == classes[i].other)
            ms_byte_set_add_others(set, &found);
        else
            for (size_t k = 0; k < sizeof set->bits; k++)
                set->bits[k] |= found.bits[k];
        return true;
    }
    return false;
}

bool ms_byte_set_add_named_class(ms_byte_set *set, const char **at)
{
    for (size_t i = 0; i < sizeof named_classes / sizeof named_classes[0]; i++) {
        size_t length = strlen(named_classes[i].name);
        if (strncmp(*at, named_classes[i].name, length) != 0)
            continue;
        add_ranges(set, named_classes[i].ranges);
        *at += length;
        return true;
    }
    return false;
}
