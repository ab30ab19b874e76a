/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A run file: the fields of a run as JSON, and "model". Its schema is schemas/run.schema.json.
 */
#ifndef MS_CONFIG_LOAD_RUN_FILE_H
#define MS_CONFIG_LOAD_RUN_FILE_H

#include "base/arena.h"
#include "base/error.h"
#include "config/resolve/resolve.h"
#include "config/run/run_fields.h"
#include "json/value.h"

/* Reads all but "model" into the draft. An unknown key is an error: the file is ours. */
ms_status ms_run_file_read(ms_arena *arena, ms_json_value root, ms_run_draft *draft,
                           ms_run_origins *origins, ms_error *err);

#endif
