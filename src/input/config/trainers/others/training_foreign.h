/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Files of trainers that are not read, known by their own keys.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_OTHERS_TRAINING_FOREIGN_H
#define MS_INPUT_CONFIG_TRAINERS_OTHERS_TRAINING_FOREIGN_H

#include "base/error.h"
#include "base/json/value.h"

/* Fails at the first key of a trainer whose files are not read, unless a key of LLaMA-Factory says
 * that the file is that one's. */
ms_status ms_training_refuse_foreign(ms_json_value root, ms_error *err);

#endif
