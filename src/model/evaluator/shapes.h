/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shapes of a text's tensors, before anything runs: what does not fit is told with its place.
 */
#ifndef MS_MODEL_EVALUATOR_SHAPES_H
#define MS_MODEL_EVALUATOR_SHAPES_H

#include "model/evaluator/program.h"

/* Of all calls of the model, with and without Liger's kernels, and of its stages. */
ms_status ms_family_shapes_check(const ms_model_config *config, ms_error *err);

#endif
