/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What families ask of a config whose experts are in groups.
 */
#ifndef MS_MODEL_MIXTURE_EXPERT_GROUPS_H
#define MS_MODEL_MIXTURE_EXPERT_GROUPS_H

#include "base/error.h"
#include "input/config/model/model_config.h"

/* Checks that enough experts can be selected and, with `least` > 0, that each of the groups has at
 * least `least` of them. */
ms_status ms_check_groups(const ms_model_config *config, uint64_t least, ms_error *err);
/* The same with groups of two: the two best experts of a group are its score. */
ms_status ms_check_pairs(const ms_model_config *config, ms_error *err);

#endif
