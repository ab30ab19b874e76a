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

#endif
