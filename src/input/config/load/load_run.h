/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Makes a resolved run of inference of a model that is read already.
 */
#ifndef MS_INPUT_CONFIG_LOAD_LOAD_RUN_H
#define MS_INPUT_CONFIG_LOAD_LOAD_RUN_H

#include "input/config/load/load.h"

/* The settings name no file: neither model, training arguments, plan, adapter nor calibration. All
 * that the run refers to is in the arena, or static. */
ms_status ms_config_load_run(ms_arena *arena, const ms_model_config *model,
                             const ms_run_setting *settings, size_t count, ms_run_config *run,
                             ms_error *err);

#endif
