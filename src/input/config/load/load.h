/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Makes a resolved run from settings: finds the model, reads the files, applies settings over the
 * run file, fills in the defaults and checks the rules that span fields.
 */
#ifndef MS_INPUT_CONFIG_LOAD_LOAD_H
#define MS_INPUT_CONFIG_LOAD_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/json/value.h"
#include "input/config/model/family.h"
#include "input/config/model/notes.h"
#include "input/config/resolve/resolve.h"
#include "input/config/run/run_config.h"

/* One field and its value as on the command line: "batch" = "4". Later settings win over earlier
 * ones. */
typedef struct ms_run_setting {
    const char *field, *value;
} ms_run_setting;

/* The destination of a loaded run. */
typedef struct ms_loaded {
    ms_model_config *model;
    ms_run_config *run;
    ms_notes *notes; /* notes about accepted input; may be NULL */
} ms_loaded;

/* "config" among the settings names, tried in this order: a built-in model (so that a name means
 * the same everywhere; write ./gpt2 for a folder of that name), "-" for standard input, a directory
 * with memscope.run.json or config.json, a file. A file with a "model" key is a run file, any other
 * a Hugging Face config.json, whose model type is looked up among the families. Without it the file
 * of "training-args" may name the model. Everything that `into` refers to is in the arena, or
 * static. */
ms_status ms_config_load(ms_arena *arena, const ms_family_list *families,
                         const ms_run_setting *settings, size_t count, ms_loaded into,
                         ms_error *err);

/* The same for a run file that is a value of an open document; paths in it are relative to `path`,
 * the document's file, or NULL. */
ms_status ms_config_load_value(ms_arena *arena, const ms_family_list *families, ms_json_value value,
                               const char *path, const ms_run_setting *settings, size_t count,
                               ms_loaded into, ms_error *err);

/* Of a run only the device, its times, the allocator and the budget, for what has a step of its
 * own, `owner` ("a trace"). Refuses settings of a model, of its step, and of PyTorch. */
ms_status ms_config_load_device(ms_arena *arena, const ms_run_setting *settings, size_t count,
                                const char *owner, ms_run_config *run, ms_notes *notes,
                                ms_error *err);

/* Finds where a file sets a field of such a run; training arguments count too. False if none does.
 */
bool ms_config_find_origin(ms_arena *arena, const ms_family_list *families, ms_json_value value,
                           const char *path, const char *field, ms_error *place);

/* ---- load run ---- */

/* Makes a resolved run of inference of a model that is read already. */

/* The settings name no file: neither model, training arguments, plan, adapter nor calibration. All
 * that the run refers to is in the arena, or static. */
ms_status ms_config_load_run(ms_arena *arena, const ms_model_config *model,
                             const ms_run_setting *settings, size_t count, ms_run_config *run,
                             ms_error *err);

/* ---- run file ---- */

/* Run files: the fields of a run as JSON, and "model". The schema is schemas/run.schema.json. */

/* Reads all keys except "model" into the draft. Unknown keys are errors. */
ms_status ms_run_file_read(ms_arena *arena, ms_json_value root, ms_run_draft *draft,
                           ms_run_origins *origins, ms_error *err);

#endif
