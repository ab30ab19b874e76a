/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Files of LLaMA-Factory's newer format, whose trainer is no Trainer: supervised fine-tuning, as in
 * its sources of August 2026 (0.9.6.dev0).
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_OTHERS_TRAINING_V1_H
#define MS_INPUT_CONFIG_TRAINERS_OTHERS_TRAINING_V1_H

#include "input/config/trainers/training_reading.h"

/* Does nothing for files of others. The micro-batches of a step, and what of its loss is not
 * predicted. */
ms_status ms_training_set_v1(ms_training_reading *r);

/* Of its files only, but for DeepSpeed: the types of weights, and of what ranks gather and reduce.
 */
ms_status ms_training_set_v1_types(ms_training_reading *r);
/* The text of `--quantize`; "": none. */
ms_status ms_training_v1_bits(ms_training_reading *r, const char **kind);

#endif
