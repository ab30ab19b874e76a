/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How the value of a field of a plan is read.
 */
#ifndef MS_PLAN_SETTING_H
#define MS_PLAN_SETTING_H

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"

typedef struct ms_setting_kind ms_setting_kind;

/* A field, and the least and largest value of a kind that has such. */
typedef struct ms_setting {
    const char *name;
    const ms_setting_kind *kind;
    double minimum, maximum;
} ms_setting;

struct ms_setting_kind {
    ms_status (*set)(const ms_setting *setting, const char *value, void *member, ms_arena *arena,
                     ms_error *err);
    /* All values, or all that a list may have; NULL past the last. NULL: it is no choice. */
    const char *(*choice_at)(size_t index);
};

extern const ms_setting_kind ms_setting_text, ms_setting_size, ms_setting_count, ms_setting_number,
    ms_setting_flag, ms_setting_planner, ms_setting_mode, ms_setting_target, ms_setting_techniques,
    ms_setting_allowances;

#endif
