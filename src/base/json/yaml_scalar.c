/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json/yaml_scalar.h"

#include <stdio.h>
#include <string.h>

#include "base/json/number.h"

static bool is_one_of(const char *text, const char *const *words)
{
    while (*words && strcmp(*words, text) != 0)
        words++;
    return *words != NULL;
}

/* JSON's grammar. */
static bool is_json_number(const char *text)
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
static bool ungroup(const char *text, char json[MS_JSON_MAX_NUMBER_BYTES + 4])
{
    size_t bytes = 0;
    const char *digits = text + (*text == '-');
    if (!strchr(text, '_') || strspn(digits, "0123456789_") != strlen(digits) || *digits == '_')
        return false;
    for (; *text; text++)
        if (*text != '_')
            json[bytes++] = *text;
    json[bytes] = '\0';
    return is_json_number(json);
}

/* Whether it is a number: as JSON has it, or ".5" and "1.", which get zeros in `json`. */
static bool is_number(const char *text, char json[MS_JSON_MAX_NUMBER_BYTES + 4])
{
    const char *point = strchr(text, '.');
    size_t bytes = strlen(text);
    if (bytes > MS_JSON_MAX_NUMBER_BYTES)
        return false;
    memcpy(json, text, bytes + 1);
    if (is_json_number(json) || !point)
        return is_json_number(json) || ungroup(text, json);
    bool is_first = point == text + (*text == '-');
    bool is_last = !ms_is_digit(point[1]);
    snprintf(json, MS_JSON_MAX_NUMBER_BYTES + 4, "%.*s%s.%s%s", (int)(point - text), text,
             is_first ? "0" : "", is_last ? "0" : "", point + 1);
    return !(is_first && is_last) && is_json_number(json);
}

cJSON *ms_yaml_plain(const char *text, ms_json_kind *kind)
{
    char json[MS_JSON_MAX_NUMBER_BYTES + 4];
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
    if (is_number(text, json))
        return cJSON_Parse(json);
    *kind = MS_JSON_STRING;
    return cJSON_CreateString(text);
}
