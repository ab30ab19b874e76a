/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/trainers/training_ranks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/locale.h"

/* ---- values ---- */

const char *ms_training_value_text(ms_json_value value)
{
    const char *text = "";
    (void)ms_json_get_string(value, &text, NULL);
    return text;
}

double ms_training_value_number(ms_json_value value)
{
    double number = -1;
    const char *text = ms_training_value_text(value);
    char *end = NULL;
    if (ms_json_get_number(value, -1e15, 1e15, &number, NULL) == MS_OK || !*text)
        return number;
    number = ms_number_read(text, &end);
    return *end == '\0' ? number : -1;
}

bool ms_training_truth(ms_json_value value, bool absent)
{
    static const char *const yes[] = {"true", "yes", "y", "t", "on", "1"};
    static const char *const no[] = {"false", "no", "n", "f", "off", "0"};
    bool truth = absent;
    const char *text = ms_training_value_text(value);
    if (ms_json_get_bool(value, &truth, NULL) == MS_OK)
        return truth;
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        if (strcasecmp(text, yes[i]) == 0)
            return true;
        if (strcasecmp(text, no[i]) == 0)
            return false;
    }
    return absent;
}

/* ---- ranks ---- */

/* The ranks of --parallel count as given, too. */
static uint64_t given_world(const ms_training_reading *r)
{
    if (ms_run_field_is_set(r->draft, "world"))
        return r->draft->world;
    return ms_run_field_is_set(r->draft, "parallel")
               ? ms_layout_world(&r->draft->run.parallel.layout)
               : 0;
}

ms_status ms_training_world(const ms_training_ranks *t, uint64_t *world)
{
    ms_training_reading *r = t->r;
    ms_json_value processes;
    bool has_world = ms_run_field_is_set(r->draft, "world");
    uint64_t said = t->sharding->processes;
    *world = given_world(r);
    if (said && has_world && *world != said && ms_json_find(t->root, "num_processes", &processes))
        return ms_training_refuse(t, processes, "%" PRIu64 " processes, but world is %" PRIu64,
                                  said, *world);
    if (!*world)
        *world = said;
    if (*world)
        return MS_OK;
    return ms_json_fail(r->err, t->sharding->value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                        "this file shards, but it does not say over how many GPUs: give --world "
                        "N, or --ignore-sharding for one device that holds everything");
}

/* ---- options ---- */

static ms_status no_memory(const ms_training_reading *r)
{
    return ms_fail(r->err, MS_ERR_NOMEM, "out of memory for options of several ranks");
}

ms_status ms_training_set_option(const ms_training_ranks *t, const char *field, const char *text)
{
    ms_training_reading *r = t->r;
    if (ms_run_field_is_set(r->draft, field))
        return MS_OK;
    if (!text)
        return no_memory(r);
    ms_status status = ms_run_field_set(r->draft, r->arena, field, text, r->err);
    const char *before = r->ranks_said ? r->ranks_said : "";
    r->ranks_said =
        ms_arena_printf(r->arena, "%s%s--%s %s", before, *before ? " " : "", field, text);
    return status == MS_OK && !r->ranks_said ? no_memory(r) : status;
}

ms_status ms_training_set_layout(const ms_training_ranks *t, const char *layout, bool *is_read)
{
    ms_training_reading *r = t->r;
    const ms_layout *given = &r->draft->run.parallel.layout;
    ms_layout own = {0};
    *is_read = false;
    if (!layout)
        return no_memory(r);
    ms_error reason = {0};
    if (ms_layout_parse(layout, &own, &reason) != MS_OK)
        return ms_json_fail(r->err, t->sharding->value, MS_JSON_AT_KEY, MS_ERR_CONFIG,
                            "this file shards as %s, which is not predicted", layout);
    bool is_given = ms_run_field_is_set(r->draft, "parallel");
    *is_read = !is_given || (given->kind == own.kind && given->stage == own.stage &&
                             given->tensor == own.tensor);
    return *is_read ? ms_training_set_option(t, "parallel", layout) : MS_OK;
}

/* The bytes of the first options, as many as fit a note. */
static size_t options_within(const char *text)
{
    enum { MOST = 110 };
    size_t length = strlen(text);
    if (length <= MOST)
        return length;
    const char *end = strstr(text + 1, " --");
    for (const char *next = end; next && next - text <= MOST; next = strstr(next + 1, " --"))
        end = next;
    return end ? (size_t)(end - text) : length;
}

/* Notes hold a sentence: many options take several. */
ms_status ms_training_note_ranks(const ms_training_ranks *t)
{
    ms_training_reading *r = t->r;
    ms_error at = {0};
    ms_status status = MS_OK;
    ms_json_error_set(&at, t->sharding->value, MS_JSON_AT_KEY, MS_ERR_CONFIG, "here");
    const char *left = r->ranks_said ? r->ranks_said : "given";
    while (*left && status == MS_OK) {
        size_t length = options_within(left);
        status = ms_note_add(r->notes, r->arena, r->err,
                             "%.60s (line %" PRIu32 " of the training arguments) was read as %.*s",
                             ms_json_key(t->sharding->value), at.line, (int)length, left);
        left += length + (left[length] == ' ');
    }
    return status;
}
