/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What can be chosen when checkpoints are planned, and what must be freed by when.
 *
 * Choices are the modules that may be checkpointed, in the order in which forward leaves them: what
 * a choice frees helps every module that is left after it. So a row says how much the first choices
 * together must free; rows that an earlier row implies are left out, and so are choices that are
 * left too late to help.
 */
#ifndef MS_PLAN_MODULES_CHOICES_H
#define MS_PLAN_MODULES_CHOICES_H

#include "base/arena.h"
#include "plan/modules/checkpoints.h"

#define MS_NO_CHOICE UINT32_MAX
#define MS_MIB 1048576.0

/* A corner of the curve from the discarded fraction to the time of making that again. */
typedef struct ms_corner {
    double fraction, freed_mib, ms;
} ms_corner;

typedef struct ms_choice {
    const ms_module *module;
    uint32_t index;           /* of the module */
    uint32_t around;          /* the next choice around it, or MS_NO_CHOICE */
    const ms_corner *corners; /* fractions rising: from where it frees nothing to 1 */
    uint32_t corner_count;
} ms_choice;

typedef struct ms_row {
    uint32_t before;     /* that many choices, the first ones, */
    uint64_t need_bytes; /* must free so much */
} ms_row;

typedef struct ms_choices {
    const ms_checkpoint_task *task;
    uint32_t *order; /* modules as forward leaves them */
    ms_choice *items;
    uint32_t count;
    ms_row *rows; /* both rising */
    uint32_t row_count;
    uint64_t *most_kept; /* by module: at the peak of its backward or of one inside it */
    uint64_t *scratch;   /* one for each module and one more, as scratch space */
} ms_choices;

/* Lives in the arena. */
ms_status ms_choices_prepare(ms_arena *arena, const ms_checkpoint_task *task, ms_choices *choices);

/* Frees as much as can be, everywhere as early as it is needed: false when no plan fits a budget.
 * `parts` is by module, here and below. */
bool ms_choices_fit(const ms_choices *choices, uint64_t budget_bytes, uint32_t *parts);

/* Keeps what is left too late to help: what is not among the choices. */
void ms_choices_only(const ms_choices *choices, uint32_t *parts);

/* The smallest budget that some plan fits; `parts` is such a plan. */
uint64_t ms_choices_least(const ms_choices *choices, uint32_t *parts);

/* The fewest parts that free that many bytes, at most all. */
uint32_t ms_choice_parts(const ms_module *module, uint64_t bytes);

/* ---- adjusting a plan ---- */

/* Discards more where it costs least until the plan fits; false when that does not do. */
bool ms_choices_repair(const ms_choices *choices, uint32_t *parts);

/* Discards less as long as the plan, which must fit, still does. */
void ms_choices_improve(const ms_choices *choices, uint32_t *parts);

double ms_choices_ms(const ms_choices *choices, const uint32_t *parts);

#endif
