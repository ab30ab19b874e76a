/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/device_named.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text/nearest.h"

enum { NAME_BYTES = 64 };

/* Words of a driver's names that tell no devices of the table apart. */
static bool is_filler(const char *word, size_t bytes)
{
    static const char *const fillers[] = {
        "nvidia",     "geforce", "tesla", "quadro", "amd",  "radeon", "instinct", "gpu", "graphics",
        "generation", "sxm",     "sxm2",  "sxm4",   "sxm5", "hbm2",   "hbm2e",    "hbm3"};
    for (size_t i = 0; i < sizeof fillers / sizeof fillers[0]; i++)
        if (strlen(fillers[i]) == bytes && memcmp(fillers[i], word, bytes) == 0)
            return true;
    return false;
}

/* Letters and digits in small letters, without fillers; a "-" stands before each word, and at the
 * end. False when it is too long. */
static bool write_words(const char *name, char words[NAME_BYTES])
{
    size_t used = 0;
    while (*name) {
        size_t bytes = 0;
        if (used + 2 >= NAME_BYTES)
            return false;
        words[used] = '-';
        for (; isalnum((unsigned char)name[bytes]); bytes++) {
            if (used + 1 + bytes + 2 >= NAME_BYTES)
                return false;
            words[used + 1 + bytes] = (char)tolower((unsigned char)name[bytes]);
        }
        if (bytes > 0 && !is_filler(words + used + 1, bytes))
            used += 1 + bytes;
        name += bytes > 0 ? bytes : 1;
    }
    words[used] = '-';
    words[used + 1] = '\0';
    return used > 0;
}

/* Past `part` in words; a "-" in words may be left out within. NULL: it does not go on so. */
static const char *past(const char *words, const char *part)
{
    while (*part) {
        if (*part == '-')
            part++;
        else if (*words == '-')
            words++;
        else if (*words++ != *part++)
            return NULL;
    }
    return words;
}

/* Whether the words of a name hold those that are wanted, whole and one after another: "-rtx-4090-"
 * holds "-4090-" and "-rtx4090-". */
static bool has_words(const char *words, const char *wanted)
{
    for (const char *at = words; at[1]; at++) {
        const char *end = *at == '-' ? past(at + 1, wanted) : NULL;
        if (end && *end == '-')
            return true;
    }
    return false;
}

/* Listed as one that may be meant. */
static void add(ms_nearest *nearest, const char *name)
{
    if (nearest->begun_count < MS_NEAREST_MOST_BEGUN)
        nearest->begun[nearest->begun_count] = name;
    nearest->begun_count++;
}

const ms_device *ms_device_named(const ms_device *devices, uint32_t count, const char *name,
                                 char hint[MS_DEVICE_HINT_BYTES])
{
    char wanted[NAME_BYTES], words[NAME_BYTES];
    const ms_device *found = NULL;
    bool has_wanted = write_words(name, wanted);
    ms_nearest nearest = ms_nearest_same_or_begun(name), holders = {.wanted = name};
    for (uint32_t i = 0; i < count; i++) {
        if (ms_name_equal(devices[i].name, name))
            return &devices[i];
        ms_nearest_offer(&nearest, devices[i].name);
        if (!has_wanted || !write_words(devices[i].name, words) || !has_words(words, wanted))
            continue;
        if (strcmp(words, wanted) == 0)
            return &devices[i];
        found = &devices[i];
        add(&holders, found->name);
    }
    if (holders.begun_count == 1)
        return found;
    if (!*ms_nearest_hint(&holders, hint, MS_DEVICE_HINT_BYTES) &&
        !*ms_nearest_hint(&nearest, hint, MS_DEVICE_HINT_BYTES))
        snprintf(hint, MS_DEVICE_HINT_BYTES,
                 "; `memscope devices` lists the known ones, and a budget such as "
                 "11GiB stands for another");
    return NULL;
}
