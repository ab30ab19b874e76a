/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a file of training settings is to the others that are read with it.
 */
#ifndef MS_INPUT_CONFIG_LAUNCH_SETTINGS_PART_H
#define MS_INPUT_CONFIG_LAUNCH_SETTINGS_PART_H

#include "base/error.h"
#include "input/config/trainers/training_value.h"

typedef enum ms_settings_kind {
    MS_SETTINGS_DEFAULTS, /* of the recipe that is launched, which files replace */
    MS_SETTINGS_LAUNCHER, /* accelerate's file, or options of a launcher */
    MS_SETTINGS_TRAINER,
    MS_SETTINGS_ENGINE, /* DeepSpeed's configuration */
    MS_SETTINGS_WORDS   /* of a command line, which win */
} ms_settings_kind;

typedef struct ms_settings_part {
    ms_settings_kind kind;
    ms_json_value root;
    ms_training_format format; /* of a trainer's */
    bool is_deep;              /* its objects are joined with those of others, member by member */
} ms_settings_part;

/* Recognises a file by its own keys. Fails where it is of no trainer that is read. */
ms_status ms_settings_part_of(ms_json_value root, ms_settings_part *part, ms_error *err);

/* "axolotl", "accelerate", "DeepSpeed". Static text. */
const char *ms_settings_part_name(const ms_settings_part *part);

#endif
