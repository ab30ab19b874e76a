/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/run/run_kinds.h"

#include <inttypes.h>
#include <string.h>

#include "input/config/adapter/adapter.h"
#include "input/config/adapter/adapter_text.h"
#include "input/config/quantize/quantize.h"
#include "input/config/model/unsupported.h"
#include "input/config/run/liger.h"
#include "input/config/run/layout.h"
#include "input/config/treatment/layers.h"
#include "input/config/treatment/treatment.h"
#include "base/json/number.h"
#include "base/text/values.h"

static ms_status set_type(const ms_config_field *field, const char *value, void *member,
                          ms_arena *arena, ms_error *err)
{
    const char *why = ms_unsupported_type(value);
    if (why)
        return ms_fail(err, MS_ERR_USAGE, "%s: found '%.40s': %s", field->name, value, why);
    return ms_config_set_choice(field, value, member, arena, err);
}

static ms_status set_attention(const ms_config_field *field, const char *value, void *member,
                               ms_arena *arena, ms_error *err)
{
    const char *why = ms_unsupported_attention(value);
    if (why)
        return ms_fail(err, MS_ERR_USAGE, "%s: found '%.40s': %s", field->name, value, why);
    return ms_config_set_choice(field, value, member, arena, err);
}

/* "2.11", "2.11.0", "2.11.0+cu130": the first two numbers count. */
static ms_status set_version(const ms_config_field *field, const char *value, void *member,
                             ms_arena *arena, ms_error *err)
{
    (void)arena;
    const char *point = strchr(value, '.');
    size_t minor_bytes = point ? strspn(point + 1, "0123456789") : 0;
    uint64_t major = 0, minor = 0;
    if (!point || ms_number_count(value, (size_t)(point - value), &major) != MS_COUNT_OK ||
        ms_number_count(point + 1, minor_bytes, &minor) != MS_COUNT_OK || minor > 999 ||
        (point[1 + minor_bytes] != '\0' && !strchr(".+", point[1 + minor_bytes])))
        return ms_fail(err, MS_ERR_USAGE, "%s: found '%.40s', expected a version such as 2.11",
                       field->name, value);
    if (major != 2)
        return ms_fail(err, MS_ERR_USAGE, "%s: %.40s is not supported, only 2.x is", field->name,
                       value);
    uint32_t *version = member;
    version[0] = (uint32_t)major;
    version[1] = (uint32_t)minor;
    return MS_OK;
}

/* Trainers' switches are of all layers. */
static ms_status set_layers(const ms_config_field *field, const char *value, void *member,
                            ms_arena *arena, ms_error *err)
{
    static const char *const switches[] = {"true", "yes", "full"};
    ms_error reason = {0};
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++)
        value = strcmp(value, switches[i]) == 0 ? "all" : value;
    ms_status status = ms_layer_list_check(value, &reason);
    return status == MS_OK ? ms_config_set_word(field, value, member, arena, err)
                           : ms_config_refuse(field, status, &reason, err);
}

static ms_status set_treat(const ms_config_field *field, const char *value, void *member,
                           ms_arena *arena, ms_error *err)
{
    ms_error reason = {0};
    ms_status status = strcmp(value, "none") ? ms_treatments_check(value, &reason) : MS_OK;
    return status == MS_OK ? ms_config_set_word(field, value, member, arena, err)
                           : ms_config_refuse(field, status, &reason, err);
}

static ms_status set_liger(const ms_config_field *field, const char *value, void *member,
                           ms_arena *arena, ms_error *err)
{
    (void)arena;
    ms_error reason = {0};
    ms_status status = ms_liger_parse(value, member, &reason);
    return status == MS_OK ? status : ms_config_refuse(field, status, &reason, err);
}

static ms_status set_lora(const ms_config_field *field, const char *value, void *member,
                          ms_arena *arena, ms_error *err)
{
    ms_error reason = {0};
    ms_adapter read;
    if (*value && !value[strspn(value, "0123456789")]) /* a rank alone */
        value = ms_arena_printf(arena, "r=%s", value);
    if (!value)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %s", field->name);
    ms_status status =
        strcmp(value, "none") ? ms_adapter_parse(arena, value, &read, &reason) : MS_OK;
    return status == MS_OK ? ms_config_set_word(field, value, member, arena, err)
                           : ms_config_refuse(field, status, &reason, err);
}

static ms_status set_quantize(const ms_config_field *field, const char *value, void *member,
                              ms_arena *arena, ms_error *err)
{
    (void)arena;
    ms_error reason = {0};
    ms_status status = ms_quantization_parse(value, member, &reason);
    return status == MS_OK ? status : ms_config_refuse(field, status, &reason, err);
}

static ms_status set_layout(const ms_config_field *field, const char *value, void *member,
                            ms_arena *arena, ms_error *err)
{
    (void)arena;
    ms_error reason = {0};
    ms_status status = ms_layout_parse(value, member, &reason);
    return status == MS_OK ? status : ms_config_refuse(field, status, &reason, err);
}

static ms_status set_rank(const ms_config_field *field, const char *value, void *member,
                          ms_arena *arena, ms_error *err)
{
    ms_rank_choice choice = {.kind = MS_RANK_ONE};
    (void)arena;
    if (strcmp(value, "worst") == 0)
        choice.kind = MS_RANK_WORST;
    else if (strcmp(value, "all") == 0)
        choice.kind = MS_RANK_ALL;
    else if (ms_value_count(field->name, value, 0, (uint64_t)field->maximum, &choice.rank, NULL) !=
             MS_OK)
        return ms_fail(err, MS_ERR_USAGE,
                       "%s: found '%.40s', expected a rank from 0 to %" PRIu64 ", worst or all",
                       field->name, value, (uint64_t)field->maximum);
    *(ms_rank_choice *)member = choice;
    return MS_OK;
}

/* "1280x720" */
static ms_status set_sides(const ms_config_field *field, const char *value, void *member,
                           ms_arena *arena, ms_error *err)
{
    const char *cross = strchr(value, 'x');
    size_t first = cross ? (size_t)(cross - value) : 0, second = cross ? strlen(cross + 1) : 0;
    uint64_t *sides = member, most = (uint64_t)field->maximum;
    (void)arena;
    if (first == 0 || ms_number_count(value, first, &sides[0]) != MS_COUNT_OK ||
        ms_number_count(cross + 1, second, &sides[1]) != MS_COUNT_OK || sides[0] == 0 ||
        sides[1] == 0 || sides[0] > most || sides[1] > most)
        return ms_fail(err, MS_ERR_USAGE,
                       "%s: found '%.40s', expected a width and a height from 1 to %" PRIu64
                       ", such as 1280x720",
                       field->name, value, most);
    return MS_OK;
}

const ms_config_kind ms_config_kind_sides = {
    .bytes = 2 * sizeof(uint64_t), .set = set_sides, .show = ms_config_show_nothing};
const ms_config_kind ms_config_kind_type = {
    .bytes = sizeof(int), .set = set_type, .show = ms_config_show_choice};
const ms_config_kind ms_config_kind_version = {
    .bytes = 2 * sizeof(uint32_t), .set = set_version, .show = ms_config_show_nothing};
const ms_config_kind ms_config_kind_layers = {
    .bytes = sizeof(const char *), .set = set_layers, .show = ms_config_show_text};
const ms_config_kind ms_config_kind_treat = {.bytes = sizeof(const char *),
                                             .has_commas = true,
                                             .set = set_treat,
                                             .show = ms_config_show_text};
const ms_config_kind ms_config_kind_liger = {.bytes = sizeof(uint64_t),
                                             .has_commas = true,
                                             .set = set_liger,
                                             .show = ms_config_show_nothing};
const ms_config_kind ms_config_kind_launch = {.bytes = sizeof(const char *),
                                              .has_commas = true,
                                              .set = ms_config_set_word,
                                              .show = ms_config_show_text};
const ms_config_kind ms_config_kind_lora = {.bytes = sizeof(const char *),
                                            .has_commas = true,
                                            .set = set_lora,
                                            .show = ms_config_show_nothing};
const ms_config_kind ms_config_kind_attention = {
    .bytes = sizeof(int), .set = set_attention, .show = ms_config_show_choice};
const ms_config_kind ms_config_kind_quantize = {
    .bytes = sizeof(ms_quantization), .set = set_quantize, .show = ms_config_show_nothing};
const ms_config_kind ms_config_kind_layout = {.bytes = sizeof(ms_layout),
                                              .has_commas = true,
                                              .set = set_layout,
                                              .show = ms_config_show_nothing};
const ms_config_kind ms_config_kind_rank = {.bytes = sizeof(ms_rank_choice),
                                            .written = MS_WRITTEN_NUMBER,
                                            .is_count = true,
                                            .takes_words = true,
                                            .set = set_rank,
                                            .show = ms_config_show_nothing};
