/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Loading a run with all families: input/config/load/load.h with the list of families.
 */
#ifndef MS_MODEL_LOAD_H
#define MS_MODEL_LOAD_H

#include "base/arena.h"
#include "base/error.h"
#include "input/config/load/load.h"

/* As ms_config_load. `notes` may be NULL. */
ms_status ms_run_load(ms_arena *arena, const ms_run_setting *settings, size_t count,
                      ms_model_config *model, ms_run_config *run, ms_notes *notes, ms_error *err);

/* For runs that may become runs of several ranks: *shared is the same run under fully_shard on two
 * ranks, or `run` where that has several already. The rest is as in ms_run_load. */
ms_status ms_run_load_shared(ms_arena *arena, const ms_run_setting *settings, size_t count,
                             const ms_loaded *into, ms_run_config *shared, ms_error *err);

/* As ms_config_load_value. */
ms_status ms_run_load_value(ms_arena *arena, ms_json_value value, const char *path,
                            const ms_run_setting *settings, size_t count, ms_loaded into,
                            ms_error *err);

/* A built-in model. */
ms_status ms_preset_load(ms_arena *arena, const char *name, ms_model_config *model, ms_error *err);

#endif
