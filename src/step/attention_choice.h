/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_STEP_ATTENTION_CHOICE_H
#define MS_STEP_ATTENTION_CHOICE_H

#include "config/model_config.h"
#include "config/run_config.h"

/* The back end PyTorch's scaled_dot_product_attention takes for a causal call without mask; what
 * the run names, unless that is auto. */
ms_attention ms_attention_choose(const ms_model_config *model, const ms_run_config *run);

/* The same for a call with a mask, which flash attention does not take. */
ms_attention ms_attention_choose_masked(const ms_model_config *model, const ms_run_config *run);

#endif
