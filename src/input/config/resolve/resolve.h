/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Completes a run from the fields that were set: defaults, and rules that span fields or need the
 * model.
 */
#ifndef MS_INPUT_CONFIG_RESOLVE_RESOLVE_H
#define MS_INPUT_CONFIG_RESOLVE_RESOLVE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/json/value.h"
#include "input/config/adapter/adapter.h"
#include "input/config/model/notes.h"
#include "input/config/run/run_config.h"
#include "input/config/run/run_fields.h"

typedef struct ms_model_config ms_model_config;

/* ---- resolve adapter ---- */

/* The type of an adapter's weights beside the run's, and whether ranks may share one. */

/* Sets adapter->dtype: `asked` (NULL: nobody asked for a type), else what PEFT makes of the type of
 * the model, else what the strategy of several ranks casts it to; and the type of its shards in
 * `run`. MS_ERR_USAGE where the strategy is not predicted with this adapter. */
ms_status ms_resolve_adapter(ms_run_config *run, const ms_model_config *model,
                             const ms_dtype *asked, ms_adapter *adapter, ms_error *err);

/* Where the run file or a plan sets a field, for messages. */
typedef struct ms_run_origins {
    bool in_file[MS_RUN_FIELD_COUNT];
    ms_json_value values[MS_RUN_FIELD_COUNT];
    /* places in a plan file, which is already closed, whose text is the field's name, and of what
     * trainers' settings make a field follow from */
    const ms_error *places[MS_RUN_FIELD_COUNT];
} ms_run_origins;

/* A draft whose run has a device already, with its rates, keeps that. */
ms_status ms_run_resolve(ms_arena *arena, const ms_run_draft *draft, const ms_run_origins *origins,
                         const ms_model_config *model, ms_run_config *run, ms_notes *notes,
                         ms_error *err);

/* Of the run only the device, its times, the allocator and the budget, which need no model. */
ms_status ms_run_resolve_device(ms_arena *arena, const ms_run_draft *draft,
                                const ms_run_origins *origins, ms_run_config *run, ms_notes *notes,
                                ms_error *err);

#endif
