/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Choices that can be counted instead of named: equal figures, equal choices inside and around, and
 * no row that is looked at between them.
 */
#ifndef MS_PLAN_MODULES_CLASSES_H
#define MS_PLAN_MODULES_CLASSES_H

#include "plan/modules/choices.h"

typedef struct ms_module_group {
    const ms_choice *choice; /* the first of them */
    uint32_t count;
    uint32_t first;   /* in `members` */
    uint32_t around;  /* the class around it, which is an earlier one, or MS_NO_CHOICE */
    uint32_t stage;   /* rows looked at before it */
    uint32_t figures; /* equal for classes that differ in nothing but their places */
    bool holds_any;   /* classes lie inside */
} ms_module_group;

typedef struct ms_module_groups {
    ms_module_group *items;
    uint32_t count;
    uint32_t *members; /* choices by class, as forward leaves them */
} ms_module_groups;

/* `is_used` is by row. Lives in the arena. */
ms_status ms_classes_find(ms_arena *arena, const ms_choices *choices, const bool *is_used,
                          ms_module_groups *classes);

#endif
