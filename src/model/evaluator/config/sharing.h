/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A rule of models whose last layers read the keys and values of earlier ones.
 */
#ifndef MS_MODEL_EVALUATOR_CONFIG_SHARING_H
#define MS_MODEL_EVALUATOR_CONFIG_SHARING_H

#include "input/config/model/family.h"

/* Refuses numbers of sharing layers that leave a kind of layers without keys of its own. */
ms_status ms_check_sharing(const ms_model_config *config, ms_error *err);

#endif
