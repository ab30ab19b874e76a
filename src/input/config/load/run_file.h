/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Run files: the fields of a run as JSON, and "model". The schema is schemas/run.schema.json.
 */
#ifndef MS_INPUT_CONFIG_LOAD_RUN_FILE_H
#define MS_INPUT_CONFIG_LOAD_RUN_FILE_H

#include "base/arena.h"
#include "base/error.h"
#include "input/config/resolve/resolve.h"
#include "input/config/run/run_fields.h"
#include "base/json/value.h"

/* Reads all keys except "model" into the draft. Unknown keys are errors. */
ms_status ms_run_file_read(ms_arena *arena, ms_json_value root, ms_run_draft *draft,
                           ms_run_origins *origins, ms_error *err);

#endif
