/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Finds where the files of a run set something, for messages about an accepted run.
 */
#ifndef MS_INPUT_CONFIG_LOAD_LOCATE_H
#define MS_INPUT_CONFIG_LOAD_LOCATE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "input/config/model/family.h"
#include "base/json/value.h"

/* The files of a run. */
typedef struct ms_run_files {
    const ms_family_list *families;
    const char *config; /* as "config" of a run; NULL: `run` is used */
    ms_json_value run;  /* a run file that is a value of an open document */
    const char *path;   /* the document's file, to which paths are relative; or NULL */
} ms_run_files;

/* Fills the place of a field of the run ("batch", "optimizer_impl"). False: no file sets it, or it
 * cannot be read; place->status is MS_ERR_NOMEM when out of memory. Built-in models have no places.
 */
bool ms_run_locate(ms_arena *arena, const ms_run_files *files, const char *field, ms_error *place);

/* The same for a key of the model's config, by its name in reports ("num_hidden_layers",
 * "text_config.hidden_size"), however the file spells it. */
bool ms_model_locate(ms_arena *arena, const ms_run_files *files, const char *key, ms_error *place);

#endif
