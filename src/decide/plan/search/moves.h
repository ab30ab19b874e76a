/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Changes of an assignment, for the local search: which would be faster by the cost model, and how
 * much more they need. Whether one fits only a simulation says.
 */
#ifndef MS_DECIDE_PLAN_SEARCH_MOVES_H
#define MS_DECIDE_PLAN_SEARCH_MOVES_H

#include "decide/plan/search/search.h"

typedef enum ms_move_kind {
    MS_MOVE_LAYERS,  /* the first layer gets the first option; so the second, if there is one */
    MS_MOVE_RANGE,   /* the first to the second layer get the first option, each or every second */
    MS_MOVE_RECOLOUR /* all layers with the first option get the second */
} ms_move_kind;

/* And the loss is made so. */
typedef struct ms_move {
    ms_move_kind kind;
    uint32_t layers[2];  /* MS_NONE: none */
    uint32_t options[2]; /* of MS_MOVE_RANGE, the second: every so many layers */
    uint32_t loss;
    double gain, more; /* shares: of the step's time, and of the capacity, in levels */
    double score;
} ms_move;

#define MS_MOVES_NOT_MADE UINT32_MAX

/* A gain of less, a share of the step's time, is noise. */
static const double ms_moves_least_gain = 1e-4;

/* An assignment and the moves from it, in the search's arena. */
typedef struct ms_moves {
    ms_search *s;
    ms_assignment now, changed; /* `changed`: room for a change of `now` */
    ms_cost_sum sum;            /* of `now` */
    double price_of_level; /* what all of the capacity is worth, in shares of the step: live bytes
                              that `now` has not may not fit */
    bool takes_slower;     /* nothing fits so far: a move need not be faster */
    bool is_far;           /* from the bound: every way to make the loss is tried with every move */
    ms_move *moves;
    uint32_t move_count;
    uint32_t age;      /* changes of `now` since they were made, or MS_MOVES_NOT_MADE */
    uint32_t *options; /* that are allowed */
    uint32_t option_count;
    double *work_ms; /* per option and layer: its time without what is counted over all layers */
    double works_ms; /* the sum of those of `now` */
    uint64_t state;  /* of pseudo-random numbers */
} ms_moves;

/* Begins at the search's best. */
ms_status ms_moves_begin(ms_search *s, ms_moves *l);
/* Goes to another assignment, whose options are shared and must not change. */
void ms_moves_go_to(ms_moves *l, const ms_assignment *to);
/* Goes to `to` by a move; those that were made serve a while longer. */
void ms_moves_follow(ms_moves *l, const ms_assignment *to);
/* Makes the moves, the most promising first, at the price of a level. */
void ms_moves_make(ms_moves *l);
/* Writes what `now` becomes by a move to `to`, which has room for its options. */
void ms_moves_apply(const ms_moves *l, const ms_move *m, ms_assignment *to);
bool ms_moves_allow_loss(const ms_moves *l, uint32_t loss);
/* A pseudo-random number below `count`, which is not 0. */
uint32_t ms_moves_random(ms_moves *l, uint32_t count);

#endif
