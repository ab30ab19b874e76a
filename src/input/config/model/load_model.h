/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Loads the model of a run, from its config or by name. Strings are in the arena.
 */
#ifndef MS_INPUT_CONFIG_MODEL_LOAD_MODEL_H
#define MS_INPUT_CONFIG_MODEL_LOAD_MODEL_H

#include "input/config/model/input.h"
#include "input/config/model/family.h"
#include "input/config/model/notes.h"
#include "base/json/value.h"

/* From a parsed config. `name`: of the model; NULL: its type. */
ms_status ms_model_load_value(ms_arena *arena, const ms_family_list *families, ms_json_value root,
                              const char *name, ms_model_config *model, ms_notes *notes,
                              ms_error *err);

/* From "model" of the run file `in`: a config, or the name of one. */
ms_status ms_model_load_of_run(ms_arena *arena, const ms_family_list *families, const ms_input *in,
                               ms_json_value value, ms_model_config *model, ms_notes *notes,
                               ms_error *err);

/* A built-in model. */
ms_status ms_model_load_preset(ms_arena *arena, const ms_family_list *families, const char *name,
                               ms_model_config *model, ms_error *err);

/* A config by the name of a preset, or a path. */
ms_status ms_model_load_named(ms_arena *arena, const ms_family_list *families, const char *config,
                              ms_model_config *model, ms_notes *notes, ms_error *err);

#endif
