/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decide/check/limits.h"

#include <stdio.h>
#include <string.h>

#include "base/text/nearest.h"
#include "base/text/size.h"
#include "input/config/model/unsupported.h"
#include "base/json/number.h"

const char *const ms_measure_names[] = {
    [MS_MEASURE_PEAK] = "peak",         [MS_MEASURE_FORWARD] = "forward",
    [MS_MEASURE_BACKWARD] = "backward", [MS_MEASURE_OPTIMIZER] = "optimizer",
    [MS_MEASURE_WEIGHTS] = "weights",   [MS_MEASURE_ACTIVATIONS] = "activations",
    [MS_MEASURE_RESERVED] = "reserved",
};
const char *const ms_require_names[] = {[MS_REQUIRE_UNSAID] = NULL,
                                        [MS_REQUIRE_NOTHING] = "nothing",
                                        [MS_REQUIRE_TIGHT] = "tight",
                                        [MS_REQUIRE_FITS] = "fits"};
static const char *const use_names[] = {"upper", "expected"};

const ms_error *ms_place_of(ms_arena *arena, ms_json_value value, ms_json_part part)
{
    ms_error *place = ms_arena_array(arena, ms_error, 1);
    if (place)
        ms_json_error_set(place, value, part, MS_ERR_CONFIG, "here");
    return place;
}

ms_status ms_fail_unknown_key(ms_json_value value, const char *const *known, size_t count,
                              ms_error *err)
{
    char hint[96];
    const char *why = ms_unsupported_setting(ms_json_key(value));
    ms_nearest nearest = ms_nearest_to(ms_json_key(value));
    for (size_t i = 0; i < count; i++)
        ms_nearest_offer(&nearest, known[i]);
    if (why)
        return ms_json_fail(err, value, MS_JSON_AT_KEY, MS_ERR_CONFIG, "unknown key '%.64s': %s",
                            ms_json_key(value), why);
    return ms_json_fail(err, value, MS_JSON_AT_KEY, MS_ERR_CONFIG, "unknown key '%.64s'%s",
                        ms_json_key(value), ms_nearest_hint(&nearest, hint, sizeof hint));
}

/* ---- amounts ---- */

uint64_t ms_share_of(uint64_t bytes, uint32_t share)
{
    uint64_t whole = bytes / MS_SHARE_WHOLE, rest = bytes % MS_SHARE_WHOLE, product;
    if (__builtin_mul_overflow(whole, (uint64_t)share, &product))
        return UINT64_MAX;
    return product + rest * share / MS_SHARE_WHOLE;
}

enum { SHARE_DECIMALS = 4, MOST_PERCENT = 1000, AMOUNT_TEXT = 48 };

/* "95%", "2.5 %": digits, up to four decimals. */
static bool read_share(const char *text, uint32_t *share)
{
    uint32_t whole = 0, fraction = 0, scale = MS_SHARE_WHOLE / 100;
    const char *p = text;
    for (; ms_is_digit(*p) && whole <= MOST_PERCENT; p++)
        whole = whole * 10 + (uint32_t)(*p - '0');
    if (p == text || whole > MOST_PERCENT)
        return false;
    if (*p == '.')
        for (p++; ms_is_digit(*p) && scale > 1; p++) {
            scale /= 10;
            fraction += (uint32_t)(*p - '0') * scale;
        }
    p += strspn(p, " ");
    *share = whole * (MS_SHARE_WHOLE / 100) + fraction;
    return p[0] == '%' && p[1] == '\0';
}

static ms_status read_one(const char *text, ms_amount *amount, ms_error *err)
{
    bool is_share = strchr(text, '%') != NULL;
    if ((is_share && amount->has_share) || (!is_share && amount->has_bytes))
        return ms_fail(err, MS_ERR_CONFIG,
                       "found two sizes or two shares, expected at most one of each");
    if (is_share && !read_share(text, &amount->share))
        return ms_fail(err, MS_ERR_CONFIG, "'%.40s' is not a share; write for example 95%%", text);
    amount->has_share = amount->has_share || is_share;
    if (is_share)
        return MS_OK;
    amount->has_bytes = true;
    return ms_size_parse(text, &amount->bytes, err);
}

ms_status ms_amount_parse(const char *text, bool may_be_two, ms_amount *amount, ms_error *err)
{
    char first[AMOUNT_TEXT];
    const char *both = strstr(text, " and "), *either = strstr(text, " or ");
    const char *middle = both ? both : either;
    *amount = (ms_amount){.needs_both = both != NULL};
    if (!middle || !may_be_two)
        return read_one(text, amount, err);
    if ((size_t)(middle - text) >= sizeof first)
        return ms_fail(err, MS_ERR_CONFIG, "'%.40s' is not a size", text);
    snprintf(first, sizeof first, "%.*s", (int)(middle - text), text);
    ms_status status = read_one(first, amount, err);
    return status == MS_OK ? read_one(middle + (both ? 5 : 4), amount, err) : status;
}

/* ---- the object ---- */

/* One that is being read. */
typedef struct reading {
    ms_arena *arena;
    ms_limits *limits;
    ms_error *err;
} reading;

static ms_status read_limit(const reading *r, ms_json_value value, ms_budget_limit *limit,
                            bool may_be_two)
{
    const char *text = NULL;
    ms_error reason = {0};
    size_t bytes;
    if (ms_json_kind_of(value) == MS_JSON_NUMBER) {
        const char *written = ms_json_source_text(value, &bytes);
        return ms_json_fail(r->err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                            "%.*s has no unit; write for example \"%.*s GiB\"",
                            (int)(bytes > 20 ? 20 : bytes), written, (int)(bytes > 20 ? 20 : bytes),
                            written);
    }
    ms_status status = ms_json_get_string(value, &text, r->err);
    if (status != MS_OK)
        return status;
    status = ms_amount_parse(text, may_be_two, &limit->amount, &reason);
    if (status != MS_OK)
        return ms_json_fail(r->err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG, "%s", reason.text);
    limit->text = ms_arena_strdup(r->arena, text);
    limit->place = ms_place_of(r->arena, value, MS_JSON_AT_VALUE);
    return limit->text && limit->place ? MS_OK : ms_fail(r->err, MS_ERR_NOMEM, "out of memory");
}

static ms_status read_max(const reading *r, ms_json_value value)
{
    return read_limit(r, value, &r->limits->max, false);
}

static ms_status read_warn(const reading *r, ms_json_value value)
{
    return read_limit(r, value, &r->limits->warn, false);
}

static ms_status read_increase(const reading *r, ms_json_value value)
{
    return read_limit(r, value, &r->limits->increase, true);
}

/* The place of a text in a list. */
static ms_status read_name(const reading *r, ms_json_value value, const char *const *names,
                           size_t count, size_t *index)
{
    char known[128] = "";
    size_t used = 0;
    const char *text = NULL;
    ms_status status = ms_json_get_string(value, &text, r->err);
    if (status != MS_OK)
        return status;
    for (*index = 0; *index < count; ++*index) {
        if (strcmp(names[*index], text) == 0)
            return MS_OK;
        if (used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s",
                                     *index == 0          ? ""
                                     : *index + 1 < count ? ", "
                                                          : " or ",
                                     names[*index]);
    }
    return ms_json_fail(r->err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG,
                        "found '%.40s', expected %s", text, known);
}

static ms_status read_measure(const reading *r, ms_json_value value)
{
    size_t index = 0;
    ms_status status = read_name(r, value, ms_measure_names, MS_MEASURE_COUNT, &index);
    if (status == MS_OK)
        r->limits->measure = (ms_measure)index;
    return status;
}

static ms_status read_use(const reading *r, ms_json_value value)
{
    size_t index = 0;
    ms_status status = read_name(r, value, use_names, 2, &index);
    r->limits->uses_expected = index == 1;
    return status;
}

static ms_status read_require(const reading *r, ms_json_value value)
{
    size_t index = 0;
    ms_status status = read_name(r, value, ms_require_names + 1, MS_REQUIRE_COUNT - 1, &index);
    if (status != MS_OK)
        return status;
    r->limits->require = (ms_require)(index + 1);
    r->limits->require_place = ms_place_of(r->arena, value, MS_JSON_AT_VALUE);
    return r->limits->require_place ? MS_OK : ms_fail(r->err, MS_ERR_NOMEM, "out of memory");
}

static const char *const keys[] = {"max", "warn", "max_increase", "phase", "use", "require"};
static ms_status (*const readers[])(const reading *r, ms_json_value value) = {
    read_max, read_warn, read_increase, read_measure, read_use, read_require};
enum { KEYS = sizeof keys / sizeof keys[0] };
_Static_assert(sizeof readers / sizeof readers[0] == KEYS, "a key has no reader");

/* A warning that would never be seen; sizes and shares can be compared with their like alone. */
static ms_status check_warn(const ms_limits *limits, bool says_warn, ms_error *err)
{
    const ms_amount *warn = &limits->warn.amount, *max = &limits->max.amount;
    bool is_above = (warn->has_bytes && max->has_bytes && warn->bytes > max->bytes) ||
                    (warn->has_share && max->has_share && warn->share > max->share);
    if (!is_above)
        return MS_OK;
    if (err && err->status == MS_OK) {
        ms_error_set(err, MS_ERR_CONFIG,
                     "warn (%.40s) is above max (%.40s): it would never take effect",
                     limits->warn.text, limits->max.text);
        ms_error_copy_place(err, says_warn ? limits->warn.place : limits->max.place);
    }
    return MS_ERR_CONFIG;
}

ms_status ms_limits_read(ms_arena *arena, ms_json_value object, ms_limits *limits, ms_error *err)
{
    const reading r = {arena, limits, err};
    ms_json_value v;
    ms_status status = ms_json_expect(object, MS_JSON_OBJECT, err);
    if (status != MS_OK)
        return status;
    for (bool more = ms_json_first(object, &v); more && status == MS_OK; more = ms_json_next(&v)) {
        size_t i = 0;
        while (i < KEYS && strcmp(keys[i], ms_json_key(v)) != 0)
            i++;
        status = i < KEYS ? readers[i](&r, v) : ms_fail_unknown_key(v, keys, KEYS, err);
    }
    return status == MS_OK && (ms_json_find(object, "warn", &v) || ms_json_find(object, "max", &v))
               ? check_warn(limits, ms_json_find(object, "warn", &v), err)
               : status;
}
