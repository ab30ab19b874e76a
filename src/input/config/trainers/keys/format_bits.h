/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A bit for each format of training settings, for tables whose rows are of several.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_KEYS_FORMAT_BITS_H
#define MS_INPUT_CONFIG_TRAINERS_KEYS_FORMAT_BITS_H

#include "input/config/trainers/training_value.h"

enum {
    HF = 1 << MS_TRAINING_HF,
    AXOLOTL = 1 << MS_TRAINING_AXOLOTL,
    FACTORY = 1 << MS_TRAINING_FACTORY,
    TORCHTUNE = 1 << MS_TRAINING_TORCHTUNE,
    TITAN = 1 << MS_TRAINING_TITAN,
    SWIFT = 1 << MS_TRAINING_SWIFT,
    V1 = 1 << MS_TRAINING_V1,
    TRAINER = HF | FACTORY | SWIFT /* TrainingArguments itself, and accelerate's files */
};

#endif
