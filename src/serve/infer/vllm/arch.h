/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the classes of models have in common; how they differ is in each family's facts.
 */
#ifndef MS_SERVE_INFER_VLLM_ARCH_H
#define MS_SERVE_INFER_VLLM_ARCH_H

#include "input/config/model/family_facts.h"

typedef struct ms_model_config ms_model_config;

bool ms_vllm_has_bias(ms_vllm_bias bias, const ms_model_config *config);

#endif
