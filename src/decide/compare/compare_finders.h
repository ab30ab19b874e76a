/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The causes that are looked for.
 */
#ifndef MS_DECIDE_COMPARE_COMPARE_FINDERS_H
#define MS_DECIDE_COMPARE_COMPARE_FINDERS_H

#include "decide/compare/compare_evidence.h"

/* Each fills a cause; false if there is none. Inputs come before what is computed of them. */
/* clang-format off */
#define MS_COMPARE_FINDERS(X) \
    X(inputs) X(compilation) X(backward) X(first_step) X(accumulation) X(attention) \
    X(checkpointing) X(autocast) X(evaluation) X(clipping) \
    X(world_size) X(rank) X(strategy) X(resharding) \
    X(quantization) X(dtype) X(model) X(frozen) X(optimizer) X(implementation)
/* clang-format on */
#define DECLARE(name) bool ms_compare_find_##name(ms_compare_evidence *e, ms_compare_cause *cause);
MS_COMPARE_FINDERS(DECLARE)

#endif
