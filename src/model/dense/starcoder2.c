/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * StarCoder2: families/starcoder2.family has its keys, modules and calls.
 */
#include "model/family/family_list.h"

const ms_family ms_family_starcoder2 = {.model_type = "starcoder2",
                                        .classes = {{"Starcoder2ForCausalLM", MS_HEAD_CAUSAL_LM}},
                                        .takes_cache = true,
                                        .text_name = "starcoder2"};
