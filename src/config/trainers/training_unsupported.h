/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Unsupported settings of files of training settings.
 */
#ifndef MS_CONFIG_TRAINERS_TRAINING_UNSUPPORTED_H
#define MS_CONFIG_TRAINERS_TRAINING_UNSUPPORTED_H

#include "config/model/notes.h"
#include "config/trainers/training_value.h"

/* Lists the unsupported settings of the file; those of FSDP and DeepSpeed unless they are read.
 * That another kind of training is meant is a note. */
ms_status ms_training_unsupported(ms_arena *arena, ms_json_value root, ms_training_format format,
                                  bool reads_ranks, ms_notes *notes, ms_notes *unsupported,
                                  ms_error *err);
/* Whether a pointer to an unsupported setting begins with that name. */
bool ms_training_key_is_unsupported(const char *name, ms_training_format format);

#endif
