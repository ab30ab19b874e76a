/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The operators of mixtures of experts: choosing experts for tokens (routing.c), taking rows by
 * index (rows.c), and products of many small matrices (grouped.c). Conventions are those of ops.h.
 */
#ifndef MS_OPS_MOE_EXPERTS_H
#define MS_OPS_MOE_EXPERTS_H

#include "ops/ops.h"

/* ---- routing ---- */

/* ---- rows by index ---- */

/* ---- products ---- */

#endif
