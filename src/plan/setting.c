/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/setting.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/locale.h"
#include "plan/trainers/targets.h"
#include "text/values.h"
#include "plan/settings.h"
#include "plan/trainers/target.h"

/* ---- figures and texts ---- */

static ms_status set_text(const ms_setting *s, const char *value, void *member, ms_arena *arena,
                          ms_error *err)
{
    return ms_value_text(s->name, value, arena, member, err);
}

static ms_status set_size(const ms_setting *s, const char *value, void *member, ms_arena *arena,
                          ms_error *err)
{
    (void)arena;
    return ms_value_size(s->name, value, (uint64_t)s->minimum, member, err);
}

static ms_status set_count(const ms_setting *s, const char *value, void *member, ms_arena *arena,
                           ms_error *err)
{
    (void)arena;
    return ms_value_count(s->name, value, (uint64_t)s->minimum, (uint64_t)s->maximum, member, err);
}

static ms_status set_number(const ms_setting *s, const char *value, void *member, ms_arena *arena,
                            ms_error *err)
{
    (void)arena;
    char expected[64];
    ms_text_print(expected, sizeof expected, "a number from %.0f to %.0f", s->minimum, s->maximum);
    return ms_value_number(s->name, value, s->minimum, s->maximum, expected, member, err);
}

static ms_status set_flag(const ms_setting *s, const char *value, void *member, ms_arena *arena,
                          ms_error *err)
{
    (void)arena;
    bool *flag = member;
    *flag = strcmp(value, "true") == 0;
    if (!*flag && strcmp(value, "false") != 0)
        return ms_fail(err, MS_ERR_USAGE, "%s: found '%.40s', expected true or false", s->name,
                       value);
    return MS_OK;
}

/* ---- choices ---- */

enum { MOST_CHOICES = 17 };

/* The index of the value among the choices of its kind. */
static ms_status find_choice(const ms_setting *s, const char *value, int *index, ms_error *err)
{
    const char *names[MOST_CHOICES + 1] = {NULL};
    for (size_t i = 0; i < MOST_CHOICES && s->kind->choice_at(i); i++)
        names[i] = s->kind->choice_at(i);
    return ms_value_choice(s->name, value, names, index, err);
}

static ms_status set_index(const ms_setting *s, const char *value, void *member, ms_arena *arena,
                           ms_error *err)
{
    (void)arena;
    return find_choice(s, value, member, err);
}

/* Stores the name as its row has it. */
static ms_status set_name(const ms_setting *s, const char *value, void *member, ms_arena *arena,
                          ms_error *err)
{
    const char **name = member;
    int choice = 0;
    (void)arena;
    ms_status status = find_choice(s, value, &choice, err);
    if (status == MS_OK)
        *name = s->kind->choice_at((size_t)choice);
    return status;
}

/* A comma-separated list of them, or none, as bits. */
static ms_status set_bits(const ms_setting *s, const char *value, void *member, ms_arena *arena,
                          ms_error *err)
{
    uint32_t found = 0, *bits = member;
    char *names = ms_arena_strdup(arena, value);
    if (!names)
        return ms_fail(err, MS_ERR_NOMEM, "out of memory for %s", s->name);
    for (char *rest = names, *one; (one = strtok_r(rest, ",", &rest)) != NULL;) {
        int choice = 0;
        if (strcmp(value, "none") == 0)
            break;
        ms_status status = find_choice(s, one, &choice, err);
        if (status != MS_OK)
            return status;
        found |= 1u << choice;
    }
    *bits = found;
    return MS_OK;
}

static const char *planner_at(size_t index)
{
    return index < MS_PLANNER_COUNT ? ms_planner_names[index] : NULL;
}

static const char *mode_at(size_t index)
{
    static const char *const modes[] = {[MS_RULES_CONSERVATIVE] = "conservative",
                                        [MS_RULES_BALANCED] = "balanced",
                                        [MS_RULES_AGGRESSIVE] = "aggressive"};
    return index < sizeof modes / sizeof modes[0] ? modes[index] : NULL;
}

const char ms_every_target[] = "all";

static const char *target_at(size_t index)
{
    const ms_target *target = ms_target_at(index);
    if (target)
        return target->name;
    return index > 0 && ms_target_at(index - 1) ? ms_every_target : NULL;
}

/* By bit of ms_technique. */
static const char *technique_at(size_t index)
{
    static const char *const names[] = {"checkpoint", "selective", "offload", "tile", "chunk"};
    enum { COUNT = sizeof names / sizeof names[0] };
    _Static_assert(MS_MAY_ALL == (1 << COUNT) - 1, "a technique has no name");
    return index < COUNT ? names[index] : NULL;
}

/* By bit of ms_allowance. */
static const char *allowance_at(size_t index)
{
    static const char *const names[] = {"host-optimizer", "host-parameters"};
    return index < sizeof names / sizeof names[0] ? names[index] : NULL;
}

const ms_setting_kind ms_setting_text = {set_text, NULL};
const ms_setting_kind ms_setting_size = {set_size, NULL};
const ms_setting_kind ms_setting_count = {set_count, NULL};
const ms_setting_kind ms_setting_number = {set_number, NULL};
const ms_setting_kind ms_setting_flag = {set_flag, NULL};
const ms_setting_kind ms_setting_planner = {set_index, planner_at};
const ms_setting_kind ms_setting_mode = {set_index, mode_at};
const ms_setting_kind ms_setting_target = {set_name, target_at};
const ms_setting_kind ms_setting_techniques = {set_bits, technique_at};
const ms_setting_kind ms_setting_allowances = {set_bits, allowance_at};
