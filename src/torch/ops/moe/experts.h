/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operators of mixtures of experts: selecting experts (choosing.h), routing tokens (routing.h),
 * rows by index (rows.h) and grouped matrix products (grouped.h). Conventions are those of ops.h.
 */
#ifndef MS_TORCH_OPS_MOE_EXPERTS_H
#define MS_TORCH_OPS_MOE_EXPERTS_H

#include "torch/ops/ops.h"

#endif
