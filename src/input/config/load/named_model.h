/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The model of a run: as it was given, or as the file of training settings names it.
 */
#ifndef MS_INPUT_CONFIG_LOAD_NAMED_MODEL_H
#define MS_INPUT_CONFIG_LOAD_NAMED_MODEL_H

#include "input/config/launch/settings_files.h"
#include "input/config/load/load.h"

/* Sets *config to the setting "config"; without it to a built-in model, by a name that it has, or a
 * folder or file that is there, whichever the file of "training-args" names. Refuses files that
 * name no model, or one that is not known, at its place. Texts are in the arena, or the settings'.
 */
ms_status ms_config_find_model(ms_arena *arena, const ms_run_setting *settings, size_t count,
                               const char **config, ms_error *err);

/* The same of the settings of a trainer alone. */
ms_status ms_settings_find_model(ms_arena *arena, const ms_settings_places *places,
                                 const char **config, ms_error *err);

#endif
