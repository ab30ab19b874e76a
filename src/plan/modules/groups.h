/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Candidates that can be counted instead of named: equal figures, equal candidates inside and
 * around, and no row that is looked at between them.
 */
#ifndef MS_PLAN_MODULES_GROUPS_H
#define MS_PLAN_MODULES_GROUPS_H

#include "plan/modules/candidates.h"

typedef struct ms_module_group {
    const ms_candidate *candidate; /* the first of them */
    uint32_t count;
    uint32_t first;   /* in `members` */
    uint32_t around;  /* the group around it, which is an earlier one, or MS_NO_CANDIDATE */
    uint32_t stage;   /* rows looked at before it */
    uint32_t figures; /* equal for groups that differ in nothing but their places */
    bool holds_any;   /* groups lie inside */
} ms_module_group;

typedef struct ms_module_groups {
    ms_module_group *items;
    uint32_t count;
    uint32_t *members; /* candidates by group, as forward leaves them */
} ms_module_groups;

/* `is_used` is by row. Lives in the arena. */
ms_status ms_module_groups_find(ms_arena *arena, const ms_candidates *candidates,
                                const bool *is_used, ms_module_groups *groups);

#endif
