/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A run's settings of a trainer: its files and its launch.
 */
#ifndef MS_INPUT_CONFIG_LOAD_LAUNCHED_H
#define MS_INPUT_CONFIG_LOAD_LAUNCHED_H

#include "input/config/launch/settings_files.h"
#include "input/config/model/family.h"
#include "input/config/resolve/resolve.h"
#include "input/config/run/run_fields.h"
#include "input/config/trainers/training_args.h"

/* A run while it is loaded; paths that its file has are relative to `path`, or NULL. */
typedef struct ms_launched {
    ms_arena *arena;
    const char *path;
    ms_run_draft *draft;
    ms_run_origins *origins;
} ms_launched;

/* Sets fields by "training-args" and "launch", if the run has them. The files stay open, as its
 * places are in them; close them also after a failure. */
ms_status ms_launched_apply(const ms_launched *run, const ms_model_config *model,
                            ms_settings_files *files, ms_told told, ms_error *err);

/* The model that they name, of a run file that names none. */
ms_status ms_launched_model(const ms_launched *run, const ms_family_list *families,
                            ms_model_config *model, ms_notes *notes, ms_error *err);

#endif
