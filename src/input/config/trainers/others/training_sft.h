/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Files of TRL's supervised fine-tuning: SFTConfig and ModelConfig as TRL 1.16 has them. Weights
 * are float32 whatever the model's config says, bf16 is on unless fp16 is, and so are checkpoints;
 * the head makes no logits.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_OTHERS_TRAINING_SFT_H
#define MS_INPUT_CONFIG_TRAINERS_OTHERS_TRAINING_SFT_H

#include "input/config/trainers/training_reading.h"

/* Whether the file is of it: by the command of trl, or by keys that it has and no key that only
 * another of TRL's trainers has. */
ms_status ms_training_find_sft(ms_training_reading *r, ms_json_value root);
/* Its head and loss, where they are predicted. */
ms_status ms_training_set_sft_loss(ms_training_reading *r);

#endif
