/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/text/values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text/nearest.h"
#include "base/text/size.h"
#include "base/json/number.h"
#include "base/json/value.h"

ms_status ms_value_text(const char *field, const char *value, ms_arena *arena, const char **text,
                        ms_error *err)
{
    const char *kept = ms_arena_strdup(arena, value);
    if (!kept)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %s", field);
    *text = kept;
    return MS_OK;
}

ms_status ms_value_count(const char *field, const char *value, uint64_t minimum, uint64_t maximum,
                         uint64_t *count, ms_error *err)
{
    uint64_t found = 0;
    if (ms_number_count(value, strlen(value), &found) != MS_COUNT_OK || found < minimum ||
        found > maximum)
        return ms_fail(err, MS_ERR_USAGE,
                       "%s: found '%.40s', expected a whole number from %" PRIu64 " to %" PRIu64,
                       field, value, minimum, maximum);
    *count = found;
    return MS_OK;
}

enum { NUMBER_TEXT = 64 };

/* JSON's numbers have digits on both sides of the point; ".3" and "1." are numbers too. */
static const char *with_both_sides(const char *value, char text[NUMBER_TEXT])
{
    size_t bytes = strlen(value);
    if (bytes < 2 || bytes > NUMBER_TEXT - 3)
        return value;
    snprintf(text, NUMBER_TEXT, "%s%s%s", value[0] == '.' ? "0" : "", value,
             value[bytes - 1] == '.' ? "0" : "");
    return text;
}

ms_status ms_value_number(const char *field, const char *value, double minimum, double maximum,
                          const char *expected, double *number, ms_error *err)
{
    char text[NUMBER_TEXT];
    const char *json = with_both_sides(value, text);
    ms_json_source source = {"", json, strlen(json)};
    ms_json *document = NULL;
    ms_status status = ms_json_parse(&source, &document, NULL);
    if (status == MS_OK)
        status = ms_json_get_number(ms_json_root(document), minimum, maximum, number, NULL);
    ms_json_free(document);
    if (status == MS_ERR_NOMEM)
        return ms_fail(err, status, "out of memory for %s", field);
    if (status != MS_OK)
        return ms_fail(err, MS_ERR_USAGE, "%s: found '%.40s', expected %s", field, value, expected);
    return MS_OK;
}

ms_status ms_value_size(const char *field, const char *value, uint64_t minimum, uint64_t *bytes,
                        ms_error *err)
{
    ms_error reason = {0};
    uint64_t found = 0;
    ms_status status = ms_size_parse(value, &found, &reason);
    if (status != MS_OK)
        return ms_fail(err, status, "%s: %s", field, reason.text);
    if (found < minimum)
        return ms_fail(err, MS_ERR_USAGE, "%s: %.40s is less than the minimum, %" PRIu64 " byte%s",
                       field, value, minimum, minimum == 1 ? "" : "s");
    *bytes = found;
    return MS_OK;
}

static const char *choice_in_list(const void *list, size_t index)
{
    return ((const char *const *)list)[index];
}

ms_status ms_value_choice(const char *field, const char *value, const char *const *choices,
                          int *choice, ms_error *err)
{
    return ms_value_choice_of(field, value, choice_in_list, choices, choice, err);
}

ms_status ms_value_choice_of(const char *field, const char *value, ms_value_name_at name_at,
                             const void *list, int *choice, ms_error *err)
{
    enum { LONG_LIST = 160 }; /* one that leaves no room for a hint */
    char known[384] = "", hint[64];
    const char *name;
    size_t used = 0;
    ms_nearest nearest = ms_nearest_same(value);
    for (int i = 0; (name = name_at(list, (size_t)i)) != NULL; i++) {
        if (ms_name_equal(name, value)) {
            *choice = i;
            return MS_OK;
        }
        ms_nearest_offer(&nearest, name);
        if (used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "",
                                     name);
    }
    ms_nearest_hint(&nearest, hint, sizeof hint);
    if (*hint && used > LONG_LIST)
        return ms_fail(err, MS_ERR_USAGE, "%s: found '%.40s'%s", field, value, hint);
    return ms_fail(err, MS_ERR_USAGE, "%s: found '%.40s', expected one of %s%s", field, value,
                   known, hint);
}

/* ---- texts of parts ---- */

enum { MOST_PARTS = 64 }; /* that others are compared with: no table has so many keys */

/* Whether both have one key, which ends at "=" or with the part, and different values. */
static bool contradicts(const char *part, const char *other)
{
    size_t key = strcspn(part, "=,"), bytes = strcspn(part, ",");
    return strcspn(other, "=,") == key && memcmp(part, other, key) == 0 &&
           (strcspn(other, ",") != bytes || memcmp(part, other, bytes) != 0);
}

ms_status ms_value_refuse_twice(const char *text, ms_error *err)
{
    const char *parts[MOST_PARTS];
    size_t count = 0;
    for (const char *part = text; *part; part += strcspn(part, ","), part += *part == ',') {
        for (size_t i = 0; i < count; i++)
            if (contradicts(part, parts[i]))
                return ms_fail(err, MS_ERR_USAGE, "found '%.40s': %.*s is given twice", text,
                               (int)strcspn(part, "=,"), part);
        if (count < MOST_PARTS)
            parts[count++] = part;
    }
    return MS_OK;
}
