/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A run while it is loaded, shared by the files of this folder.
 */
#ifndef MS_INPUT_CONFIG_LOAD_LOADING_H
#define MS_INPUT_CONFIG_LOAD_LOADING_H

#include "input/config/launch/settings_files.h"
#include "input/config/load/load.h"

typedef struct ms_loading {
    ms_arena *arena;
    const ms_family_list *families; /* that the model may be of */
    const ms_family_list *built_in; /* without those of the user's */
    ms_run_draft draft;
    ms_run_origins origins;
    ms_model_config *model;
    ms_run_config *run;
    ms_adapter *adapter;
    ms_settings_files files; /* of training settings, as long as their places are needed */
    ms_notes *notes, unsupported;
    ms_read_keys keys;
    ms_error *err;
    bool is_resolving; /* its files are read */
    bool lacks_model;  /* it is refused: another one stands for it, to find further refusals */
    bool is_run;       /* a run file, though it names no model itself */
    const char *asked; /* a field; *place is where the files say it. NULL: none */
    ms_error *place;
} ms_loading;
/* Reads the file that a field names, if any, beside the run file if that names it. */
ms_status ms_loading_read_beside(ms_loading *l, const char *field, const char *path,
                                 const char *run_path,
                                 ms_status (*take)(ms_loading *l, ms_json_value root));

/* A run while it is loaded; paths that its file has are relative to `path`, or NULL. */
typedef struct ms_launched {
    ms_arena *arena;
    const char *path;
    ms_run_draft *draft;
    ms_run_origins *origins;
} ms_launched;

/* The run's settings of a trainer. */
ms_launched ms_loading_launched(ms_loading *l, const char *run_path);
ms_status ms_loading_apply_training_args(ms_loading *l, const char *run_path);
/* Takes the treatments of a plan, which stand for those that could have been given. */
ms_status ms_loading_apply_plan(ms_loading *l, const char *run_path);

/* ---- launched ---- */

/* A run's settings of a trainer: its files and its launch. */

/* The model that they name, of a run file that names none. */
ms_status ms_launched_model(const ms_launched *run, const ms_family_list *families,
                            ms_model_config *model, ms_notes *notes, ms_error *err);

#endif
