/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A run with its adapter, from what was set and what is already read: when it is loaded, and again
 * with other settings.
 */
#ifndef MS_INPUT_CONFIG_LOAD_AGAIN_H
#define MS_INPUT_CONFIG_LOAD_AGAIN_H

#include "base/arena.h"
#include "base/error.h"
#include "input/config/run/run_fields.h"

/* Refuses settings of an adapter that exclude each other or other settings of the run. */
ms_status ms_run_adapter_check(const ms_run_draft *draft, const ms_run_config *run, ms_error *err);
/* Sets run->adapter: parsed from `lora`, else `read` from the adapter's file, else none. */
ms_status ms_run_adapter_resolve(ms_arena *arena, const ms_run_draft *draft,
                                 const ms_model_config *model, ms_adapter *read, ms_run_config *run,
                                 ms_error *err);

/* Sets a field of a draft that a run is resolved from again, and appends "--field value" to
 * *option, in the arena. `value` NULL: there was no memory for it. MS_ERR_NOMEM; MS_ERR_USAGE: it
 * is refused, by name. */
ms_status ms_run_change(ms_run_draft *draft, ms_arena *arena, const char *field, const char *value,
                        const char **option, ms_error *err);

/* Resolves a run again from a changed copy of `before->draft`; no file is read. What was done to
 * `before` since it was resolved stays: the device with its rates, unless `draft` names another
 * one; the budget and whether the allocator is held to it; the rank; shares of selective
 * checkpoints that were resolved. The draft must outlive the run. MS_ERR_USAGE and MS_ERR_CONFIG:
 * the settings are refused, by name. */
ms_status ms_run_resolve_again(ms_arena *arena, const ms_run_config *before,
                               const ms_run_draft *draft, const ms_model_config *model,
                               ms_run_config *run, ms_error *err);

#endif
