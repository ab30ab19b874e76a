/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What several programs set up alike.
 */
#ifndef MS_TESTS_UNIT_FIXTURES_H
#define MS_TESTS_UNIT_FIXTURES_H

#include <string.h>

#include "input/config/model/model_read.h"
#include "model/families.h"
#include "model/load.h"
#include "unit/support.h"

/* The family of a model type, which there must be. */
/* A family with what its text has; it lives as long as the arena. */
static inline const ms_family *family_of(ms_arena *arena, const char *name)
{
    const ms_family_list *families = ms_families();
    ms_error err = {.status = MS_OK};
    const ms_family *row = ms_family_named(families, name);
    if (!row)
        fail_msg("no family %s", name);
    const ms_family *family = families->read(arena, row, &err);
    assert_non_null(family);
    return family;
}

/* Loads a run from at most `room` settings, which end where a field is NULL. */
static inline void load_run(ms_arena *arena, const ms_run_setting *settings, size_t room,
                            ms_model_config *model, ms_run_config *run)
{
    ms_notes notes = {0};
    ms_error err = {0};
    size_t count = 0;
    while (count < room && settings[count].field)
        count++;
    if (ms_run_load(arena, settings, count, model, run, &notes, &err) != MS_OK)
        fail_msg("%s", err.text);
}

/* The same on a device of the table. */
static inline void load_run_on(const char *device, ms_arena *arena, const ms_run_setting *settings,
                               size_t room, ms_model_config *model, ms_run_config *run)
{
    enum { MOST = 16 };
    ms_run_setting all[MOST] = {{"device", device}};
    assert_true(room < MOST);
    memcpy(all + 1, settings, room * sizeof *settings);
    load_run(arena, all, room + 1, model, run);
}

#endif
