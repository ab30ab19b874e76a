/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whisper: families/whisper.family has its keys, modules and calls.
 */
#include "model/family/family_keys.h"
#include "model/family/family_list.h"

const ms_family ms_family_whisper = {
    .model_type = "whisper",
    .classes = {{"WhisperForConditionalGeneration", MS_HEAD_TARGET_LM}},
    .check = ms_check_heads_divide,
    .has_no_mlp_module = true,
    .unpredicted = MS_UNPREDICTED_DOCUMENTS | MS_UNPREDICTED_HOST_PARAMETERS |
                   MS_UNPREDICTED_PACKED | MS_UNPREDICTED_REENTRANT | MS_UNPREDICTED_F16_STEPS |
                   MS_UNPREDICTED_FSDP1,
    .text_name = "whisper"};
