/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From settings to a resolved run: finds the model, reads the files, lets the settings win over the
 * run file, fills in the defaults and checks the rules that span fields.
 */
#ifndef MS_CONFIG_LOAD_LOAD_H
#define MS_CONFIG_LOAD_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "config/model/model_config.h"
#include "config/model/notes.h"
#include "config/run/run_config.h"
#include "json/value.h"

/* One field as the command line gives it: "batch" = "4". A later one wins over an earlier one. */
typedef struct ms_run_setting {
    const char *field, *value;
} ms_run_setting;

/* Where a run is read to. */
typedef struct ms_loaded {
    ms_model_config *model;
    ms_run_config *run;
    ms_notes *notes; /* what a user should know though nothing failed; may be NULL */
} ms_loaded;

/* "config" among the settings names, in this order of trial: a built-in model (so that a name means
 * the same everywhere; write ./gpt2 for a folder of that name), "-" for standard input, a directory
 * holding memscope.run.json or config.json, a file. A file is a run file when it has a "model" key,
 * else a Hugging Face config.json, whose model type is looked up among the families. Everything
 * that `into` refers to lives in the arena, or is static. */
ms_status ms_config_load(ms_arena *arena, const ms_family_list *families,
                         const ms_run_setting *settings, size_t count, ms_loaded into,
                         ms_error *err);

/* The same for a run file that is a value of an open document; paths in it start at `path`, the
 * document's file, or NULL. */
ms_status ms_config_load_value(ms_arena *arena, const ms_family_list *families, ms_json_value value,
                               const char *path, const ms_run_setting *settings, size_t count,
                               ms_loaded into, ms_error *err);

/* Which file sets a field of such a run, if one does: its training arguments too. */
bool ms_config_find_origin(ms_arena *arena, const ms_family_list *families, ms_json_value value,
                           const char *path, const char *field, ms_error *place);

#endif
