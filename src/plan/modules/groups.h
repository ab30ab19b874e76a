/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Groups of interchangeable candidates: equal figures, equal candidates inside and around, and no
 * used row between them.
 */
#ifndef MS_PLAN_MODULES_GROUPS_H
#define MS_PLAN_MODULES_GROUPS_H

#include "plan/modules/candidates.h"

typedef struct ms_module_group {
    const ms_candidate *candidate; /* the first of them */
    uint32_t count;
    uint32_t first;   /* in `members` */
    uint32_t around;  /* the group around it, an earlier one, or MS_NO_CANDIDATE */
    uint32_t stage;   /* number of used rows before it */
    uint32_t figures; /* equal for groups that differ only in position */
    bool holds_any;   /* contains other groups */
} ms_module_group;

typedef struct ms_module_groups {
    ms_module_group *items;
    uint32_t count;
    uint32_t *members; /* candidates by group, in the order in which forward leaves them */
} ms_module_groups;

/* `is_used` is by row. Allocates in the arena. */
ms_status ms_module_groups_find(ms_arena *arena, const ms_candidates *candidates,
                                const bool *is_used, ms_module_groups *groups);

#endif
