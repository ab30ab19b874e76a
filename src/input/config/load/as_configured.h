/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A run as the model's config.json asks for it.
 */
#ifndef MS_INPUT_CONFIG_LOAD_AS_CONFIGURED_H
#define MS_INPUT_CONFIG_LOAD_AS_CONFIGURED_H

#include "input/config/model/model_config.h"
#include "input/config/model/notes.h"
#include "input/config/run/run_fields.h"

/* Sets the fields that the config asks for and nothing else has set, and notes them. What is not
 * predicted of it is listed in `unsupported`. */
ms_status ms_run_as_configured(ms_arena *arena, const ms_model_config *model, ms_run_draft *draft,
                               ms_notes *notes, ms_notes *unsupported, ms_error *err);

#endif
