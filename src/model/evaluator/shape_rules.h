/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What each row makes of shapes.
 */
#ifndef MS_MODEL_EVALUATOR_SHAPE_RULES_H
#define MS_MODEL_EVALUATOR_SHAPE_RULES_H

#include "model/evaluator/primitive.h"

enum { MS_SHAPED_RANKS = 4 };

typedef enum ms_shaped_kind {
    MS_SHAPED,
    MS_SHAPED_NONE, /* None */
    MS_SHAPED_ANY   /* masks, tables, probabilities: only what takes such can take it */
} ms_shaped_kind;

typedef struct ms_text_shape {
    ms_shaped_kind kind;
    uint32_t rank;
    uint64_t dims[MS_SHAPED_RANKS];
} ms_text_shape;

typedef struct ms_shaping {
    ms_family_reading *reading;
    const ms_family_text *text;
    uint64_t batch, seq; /* any that differ from other sizes */
    uint32_t steps;
} ms_shaping;

/* These record a failure with the place of the node, and yield false. */
bool ms_shape_function(ms_shaping *shaping, const ms_text_facts *facts, const ms_text_node *node,
                       const ms_text_shape *args, uint32_t wanted, ms_text_shape *out);
/* A call of what `maker` made; args NULL: the parameter itself. */
bool ms_shape_module(ms_shaping *shaping, const ms_text_facts *facts, const ms_text_node *node,
                     const ms_text_node *maker, const ms_text_shape *args, ms_text_shape *out);
/* An operator between two: one of rank 0 is a number. */
bool ms_shape_join(ms_shaping *shaping, const ms_text_node *node, const ms_text_shape *a,
                   const ms_text_shape *b, ms_text_shape *out);
bool ms_shape_expect(ms_shaping *shaping, const ms_text_node *node, const ms_text_shape *found,
                     const ms_text_shape *wanted, const char *what);

#endif
