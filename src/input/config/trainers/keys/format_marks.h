/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Keys of files of training settings by which their format is told.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_KEYS_FORMAT_MARKS_H
#define MS_INPUT_CONFIG_TRAINERS_KEYS_FORMAT_MARKS_H

#include "input/config/trainers/training_value.h"

/* "axolotl", for messages. */
const char *ms_training_format_name(ms_training_format format);

/* The format that alone has a key of the file, if any has. Fails where two have. */
ms_status ms_training_find_mark(ms_json_value root, ms_training_format *format, bool *is_marked,
                                ms_error *err);

/* ---- format bits ---- */

/* A bit for each format of training settings, for tables whose rows are of several. */

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
