/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of mixtures of experts: functions and modules that only their texts call.
 */
#ifndef MS_MODEL_EVALUATOR_MIXTURE_H
#define MS_MODEL_EVALUATOR_MIXTURE_H

#include "model/evaluator/primitive.h"

extern const ms_primitive ms_mixture_rows[];
extern const uint32_t ms_mixture_row_count;

#endif
