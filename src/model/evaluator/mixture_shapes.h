/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the rows of mixtures of experts make of shapes.
 */
#ifndef MS_MODEL_EVALUATOR_MIXTURE_SHAPES_H
#define MS_MODEL_EVALUATOR_MIXTURE_SHAPES_H

#include "model/evaluator/shape_rules.h"

#define MS_SHAPES(name)                                                                            \
    bool name(ms_shaping *s, const ms_text_facts *facts, const ms_text_node *node,                 \
              const ms_text_node *maker, const ms_text_shape *a, ms_text_shape *out)

/* [B, S, H] or [N, H] to [N, H], and back to [B, S, H] */
MS_SHAPES(ms_shape_as_tokens);
MS_SHAPES(ms_shape_as_sequences);
/* x [.., H] and a weight [O, H] to [.., O] */
MS_SHAPES(ms_shape_linear_of);
/* [.., E] to the [.., K] best and their places */
MS_SHAPES(ms_shape_topk);
/* [N, E] and a bias [E] to [N, K], and what only stays bound */
MS_SHAPES(ms_shape_choose_by_pairs);
/* places among the last dimension, whose shape the result has */
MS_SHAPES(ms_shape_gather);
/* A parameter of the sizes that are its first arguments. */
MS_SHAPES(ms_shape_sizes);
/* Tokens [N, H], and for each its experts and their weights, both [N, K]. */
MS_SHAPES(ms_shape_experts);

#endif
