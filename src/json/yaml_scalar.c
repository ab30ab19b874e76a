/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "json/yaml_scalar.h"

#include <string.h>

#include "json/number.h"

static bool is_one_of(const char *text, const char *const *words)
{
    while (*words && strcmp(*words, text) != 0)
        words++;
    return *words != NULL;
}

/* JSON's grammar. */
static bool is_number(const char *text)
{
    const char *p = text + (*text == '-');
    size_t digits = strspn(p, "0123456789");
    if (digits == 0 || (digits > 1 && *p == '0'))
        return false;
    p += digits;
    if (*p == '.') {
        digits = strspn(p + 1, "0123456789");
        if (digits == 0)
            return false;
        p += 1 + digits;
    }
    if (*p == 'e' || *p == 'E') {
        p += 1 + (p[1] == '+' || p[1] == '-');
        digits = strspn(p, "0123456789");
        if (digits == 0)
            return false;
        p += digits;
    }
    size_t bytes = (size_t)(p - text);
    return *p == '\0' && bytes <= MS_JSON_MAX_NUMBER_BYTES && ms_number_is_finite(text, bytes);
}

/* YAML 1.1 groups the digits of a whole number: 500_000. */
static bool ungroup(const char *text, char number[MS_JSON_MAX_NUMBER_BYTES + 1])
{
    size_t bytes = 0;
    const char *digits = text + (*text == '-');
    memset(number, 0, MS_JSON_MAX_NUMBER_BYTES + 1);
    if (!strchr(text, '_') || strspn(digits, "0123456789_") != strlen(digits) || *digits == '_' ||
        strlen(text) > MS_JSON_MAX_NUMBER_BYTES)
        return false;
    for (; *text; text++)
        if (*text != '_')
            number[bytes++] = *text;
    return is_number(number);
}

cJSON *ms_yaml_plain(const char *text, ms_json_kind *kind)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", "yes", "Yes",
                                        "YES",  "on",   "On",   "ON",  NULL};
    static const char *const falses[] = {"false", "False", "FALSE", "no",  "No",
                                         "NO",    "off",   "Off",   "OFF", NULL};
    *kind = MS_JSON_NULL;
    if (is_one_of(text, nulls))
        return cJSON_CreateNull();
    *kind = MS_JSON_BOOL;
    if (is_one_of(text, trues))
        return cJSON_CreateTrue();
    if (is_one_of(text, falses))
        return cJSON_CreateFalse();
    *kind = MS_JSON_NUMBER;
    if (is_number(text))
        return cJSON_Parse(text);
    char number[MS_JSON_MAX_NUMBER_BYTES + 1];
    if (ungroup(text, number))
        return cJSON_Parse(number);
    *kind = MS_JSON_STRING;
    return cJSON_CreateString(text);
}
