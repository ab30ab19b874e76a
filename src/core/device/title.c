/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/device/title.h"

#include <ctype.h>
#include <string.h>

/* The first word of a title with a digit: "A100" of "NVIDIA A100 SXM 80 GB". */
static const char *model_word(const char *title, size_t *length)
{
    for (const char *word = title; *word; word += strspn(word, " ")) {
        *length = strcspn(word, " ");
        if (strcspn(word, "0123456789") < *length)
            return word;
        word += *length;
    }
    return NULL;
}

static bool has_word(const char *text, const char *word, size_t length)
{
    for (const char *at = text; *at; at++)
        if (strncmp(at, word, length) == 0 && (at == text || !isalnum((unsigned char)at[-1])) &&
            !isalnum((unsigned char)at[length]))
            return true;
    return false;
}

bool ms_device_is_titled(const ms_device *device, const char *title)
{
    size_t length = 0;
    const char *word = model_word(device->title, &length);
    return word && has_word(title, word, length);
}
