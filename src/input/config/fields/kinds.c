/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/fields/kinds.h"

#include <float.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/locale.h"
#include "base/json/number.h"
#include "base/text/nearest.h"
#include "base/text/values.h"

void ms_config_show_nothing(const ms_config_field *field, const void *member,
                            ms_config_shown *shown)
{
    (void)field, (void)member, (void)shown;
}

ms_status ms_config_refuse(const ms_config_field *field, ms_status status, const ms_error *reason,
                           ms_error *err)
{
    return ms_fail(err, status, "%s: %s", field->name, reason->text);
}

/* ---- texts ---- */

static ms_status set_text(const ms_config_field *field, const char *value, void *member,
                          ms_arena *arena, ms_error *err)
{
    return ms_value_text(field->name, value, arena, member, err);
}

ms_status ms_config_set_word(const ms_config_field *field, const char *value, void *member,
                             ms_arena *arena, ms_error *err)
{
    if (!*value)
        return ms_fail(err, MS_ERR_USAGE, "%s: the value is empty", field->name);
    return set_text(field, value, member, arena, err);
}

void ms_config_show_text(const ms_config_field *field, const void *member, ms_config_shown *shown)
{
    const char *text = *(const char *const *)member;
    (void)field;
    *shown = (ms_config_shown){.form = MS_SHOWN_TEXT, .text = text && *text ? text : "none"};
}

/* ---- counts ---- */

static ms_status set_count(const ms_config_field *field, const char *value, void *member,
                           ms_arena *arena, ms_error *err)
{
    uint64_t most = field->maximum > 0 ? (uint64_t)field->maximum : UINT64_MAX;
    (void)arena;
    return ms_value_count(field->name, value, (uint64_t)field->minimum, most, member, err);
}

/* Lengths of sequences are said in powers of two: "4k", "1M". */
static ms_status set_tokens(const ms_config_field *field, const char *value, void *member,
                            ms_arena *arena, ms_error *err)
{
    char digits[24];
    size_t length = strspn(value, "0123456789");
    const char *unit = value + length;
    uint64_t scale = strcasecmp(unit, "k") == 0   ? 1 << 10
                     : strcasecmp(unit, "m") == 0 ? 1 << 20
                                                  : 0;
    uint64_t count = 0;
    bool is_short = length > 0 && length <= 9 && scale > 0;
    if (is_short && ms_number_count(value, length, &count) == MS_COUNT_OK) {
        ms_text_print(digits, sizeof digits, "%" PRIu64, count * scale);
        value = digits;
    }
    return set_count(field, value, member, arena, err);
}

static bool is_none(const char *value)
{
    return strcmp(value, "none") == 0;
}

static ms_status set_some(const ms_config_field *field, const char *value, void *member,
                          ms_arena *arena, ms_error *err)
{
    if (!is_none(value))
        return set_count(field, value, member, arena, err);
    *(uint64_t *)member = 0;
    return MS_OK;
}

static ms_status set_power(const ms_config_field *field, const char *value, void *member,
                           ms_arena *arena, ms_error *err)
{
    uint64_t count = 0;
    ms_status status = set_some(field, value, &count, arena, err);
    if (status != MS_OK)
        return status;
    if ((count & (count - 1)) != 0)
        return ms_fail(err, MS_ERR_USAGE, "%s: %" PRIu64 " is not a power of two", field->name,
                       count);
    *(uint32_t *)member = (uint32_t)count;
    return MS_OK;
}

static void show_count(const ms_config_field *field, const void *member, ms_config_shown *shown)
{
    (void)field;
    *shown = (ms_config_shown){.form = MS_SHOWN_COUNT, .count = *(const uint64_t *)member};
}

static void show_power(const ms_config_field *field, const void *member, ms_config_shown *shown)
{
    (void)field;
    *shown = (ms_config_shown){.form = MS_SHOWN_COUNT, .count = *(const uint32_t *)member};
}

/* 0 is none. */
static void show_some(const ms_config_field *field, const void *member, ms_config_shown *shown)
{
    show_count(field, member, shown);
    if (!shown->count)
        shown->form = MS_SHOWN_NULL;
}

/* ---- numbers ---- */

static ms_status set_number(const ms_config_field *field, const char *value, void *member,
                            ms_arena *arena, ms_error *err)
{
    char expected[64];
    double most = field->maximum > 0 ? field->maximum : MS_VALUE_LARGEST_NUMBER;
    (void)arena;
    if (field->maximum > 0)
        ms_text_print(expected, sizeof expected, "a number from %.0f to %.0f", field->minimum,
                      field->maximum);
    else
        ms_text_print(expected, sizeof expected, "a number of %.0f or more", field->minimum);
    return ms_value_number(field->name, value, field->minimum, most, expected, member, err);
}

static ms_status set_above(const ms_config_field *field, const char *value, void *member,
                           ms_arena *arena, ms_error *err)
{
    (void)arena;
    if (!is_none(value))
        return ms_value_number(field->name, value, DBL_TRUE_MIN, MS_VALUE_LARGEST_NUMBER,
                               "a number above 0, such as 1.0, or none", member, err);
    *(double *)member = 0;
    return MS_OK;
}

static ms_status set_part(const ms_config_field *field, const char *value, void *member,
                          ms_arena *arena, ms_error *err)
{
    (void)arena;
    return ms_value_number(field->name, value, field->minimum, field->maximum,
                           "a share from 0.001 to 1, such as 0.45 for 45 %", member, err);
}

static void show_number(const ms_config_field *field, const void *member, ms_config_shown *shown)
{
    (void)field;
    *shown = (ms_config_shown){.form = MS_SHOWN_NUMBER, .number = *(const double *)member};
}

static void show_above(const ms_config_field *field, const void *member, ms_config_shown *shown)
{
    show_number(field, member, shown);
    if (!(shown->number > 0))
        shown->form = MS_SHOWN_NULL;
}

/* ---- sizes ---- */

static ms_status set_size(const ms_config_field *field, const char *value, void *member,
                          ms_arena *arena, ms_error *err)
{
    (void)arena;
    return ms_value_size(field->name, value, (uint64_t)field->minimum, member, err);
}

static ms_status set_limit(const ms_config_field *field, const char *value, void *member,
                           ms_arena *arena, ms_error *err)
{
    if (!is_none(value))
        return set_size(field, value, member, arena, err);
    *(uint64_t *)member = 0;
    return MS_OK;
}

/* ---- choices ---- */

static const char *choice_at(const void *field, size_t index)
{
    return ms_config_field_choice(field, index);
}

/* What it is another name of, or the name itself. */
static const char *meant_by(const ms_config_field *field, const char *value)
{
    for (const char *const(*s)[2] = field->synonyms; s && (*s)[0]; s++)
        if (ms_name_equal(value, (*s)[0]))
            return (*s)[1];
    return value;
}

static ms_status find_choice(const ms_config_field *field, const char *value, int *index,
                             ms_error *err)
{
    const char *meant = meant_by(field, value);
    if (meant != value &&
        ms_value_choice_of(field->name, meant, choice_at, field, index, NULL) == MS_OK)
        return MS_OK;
    return ms_value_choice_of(field->name, value, choice_at, field, index, err);
}

ms_status ms_config_set_choice(const ms_config_field *field, const char *value, void *member,
                               ms_arena *arena, ms_error *err)
{
    (void)arena;
    return find_choice(field, value, member, err);
}

void ms_config_show_choice(const ms_config_field *field, const void *member, ms_config_shown *shown)
{
    int index;
    memcpy(&index, member, sizeof index);
    *shown = (ms_config_shown){.form = MS_SHOWN_TEXT,
                               .text = ms_config_field_choice(field, (size_t)index)};
}

/* Keeps the name as its row has it. */
static ms_status set_name(const ms_config_field *field, const char *value, void *member,
                          ms_arena *arena, ms_error *err)
{
    const char **name = member;
    int index = 0;
    (void)arena;
    ms_status status = find_choice(field, value, &index, err);
    if (status == MS_OK)
        *name = ms_config_field_choice(field, (size_t)index);
    return status;
}

static ms_status set_bits(const ms_config_field *field, const char *value, void *member,
                          ms_arena *arena, ms_error *err)
{
    uint32_t found = 0;
    char *names = is_none(value) ? NULL : ms_arena_strdup(arena, value);
    if (!names && !is_none(value))
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %s", field->name);
    for (char *rest = names, *one; names && (one = strtok_r(rest, ",", &rest)) != NULL;) {
        int index = 0;
        ms_status status = find_choice(field, one, &index, err);
        if (status != MS_OK)
            return status;
        found |= UINT32_C(1) << index;
    }
    *(uint32_t *)member = found;
    return MS_OK;
}

static ms_status set_truth(const ms_config_field *field, const char *value, void *member,
                           ms_arena *arena, ms_error *err)
{
    int index = 0;
    (void)arena;
    ms_status status = find_choice(field, value, &index, err);
    if (status == MS_OK)
        *(bool *)member = index == 1;
    return status;
}

static void show_truth(const ms_config_field *field, const void *member, ms_config_shown *shown)
{
    (void)field;
    *shown = (ms_config_shown){.form = MS_SHOWN_BOOL, .count = *(const bool *)member};
}

/* By bool. */
static const char *const truths[] = {"false", "true", NULL};
static const char *const answers[] = {"no", "yes", NULL};

/* ---- the kinds ---- */

const ms_config_kind ms_config_kind_text = {
    .bytes = sizeof(const char *), .set = set_text, .show = ms_config_show_text};
const ms_config_kind ms_config_kind_word = {
    .bytes = sizeof(const char *), .set = ms_config_set_word, .show = ms_config_show_text};
const ms_config_kind ms_config_kind_file = {.bytes = sizeof(const char *),
                                            .is_file = true,
                                            .set = ms_config_set_word,
                                            .show = ms_config_show_text};
const ms_config_kind ms_config_kind_count = {.bytes = sizeof(uint64_t),
                                             .written = MS_WRITTEN_NUMBER,
                                             .is_count = true,
                                             .set = set_count,
                                             .show = show_count};
const ms_config_kind ms_config_kind_tokens = {.bytes = sizeof(uint64_t),
                                              .written = MS_WRITTEN_NUMBER,
                                              .is_count = true,
                                              .set = set_tokens,
                                              .show = show_count};
const ms_config_kind ms_config_kind_some = {.bytes = sizeof(uint64_t),
                                            .written = MS_WRITTEN_NUMBER,
                                            .is_count = true,
                                            .set = set_some,
                                            .show = show_some};
const ms_config_kind ms_config_kind_power = {
    .bytes = sizeof(uint32_t), .written = MS_WRITTEN_NUMBER, .set = set_power, .show = show_power};
const ms_config_kind ms_config_kind_number = {
    .bytes = sizeof(double), .written = MS_WRITTEN_NUMBER, .set = set_number, .show = show_number};
const ms_config_kind ms_config_kind_above = {
    .bytes = sizeof(double), .written = MS_WRITTEN_NUMBER, .set = set_above, .show = show_above};
const ms_config_kind ms_config_kind_part = {
    .bytes = sizeof(double), .written = MS_WRITTEN_NUMBER, .set = set_part, .show = show_number};
const ms_config_kind ms_config_kind_size = {
    .bytes = sizeof(uint64_t), .written = MS_WRITTEN_SIZE, .set = set_size, .show = show_some};
const ms_config_kind ms_config_kind_limit = {
    .bytes = sizeof(uint64_t), .written = MS_WRITTEN_SIZE, .set = set_limit, .show = show_count};
const ms_config_kind ms_config_kind_choice = {
    .bytes = sizeof(int), .set = ms_config_set_choice, .show = ms_config_show_choice};
const ms_config_kind ms_config_kind_name = {
    .bytes = sizeof(const char *), .set = set_name, .show = ms_config_show_text};
const ms_config_kind ms_config_kind_bits = {
    .bytes = sizeof(uint32_t), .set = set_bits, .show = ms_config_show_nothing};
const ms_config_kind ms_config_kind_flag = {.bytes = sizeof(bool),
                                            .written = MS_WRITTEN_FLAG,
                                            .choices = truths,
                                            .set = set_truth,
                                            .show = show_truth};
const ms_config_kind ms_config_kind_answer = {
    .bytes = sizeof(bool), .choices = answers, .set = set_truth, .show = show_truth};
