/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Keys of config.json that no family reads: harmless ones, and those that are named.
 */
#ifndef MS_INPUT_CONFIG_MODEL_OTHER_OTHER_KEYS_H
#define MS_INPUT_CONFIG_MODEL_OTHER_OTHER_KEYS_H

#include "base/json/value.h"
#include "input/config/model/family.h"
#include "input/config/model/notes.h"

/* Notes every key, of the file and of the objects in it that describe parts of the model, that is
 * neither the family's nor known to have no effect on memory; those that look like another one's
 * misspelling with that one. */
ms_status ms_other_keys_note(ms_arena *arena, ms_json_value root, const ms_family *family,
                             ms_notes *notes, ms_error *err);

/* ---- run keys ---- */

/* Keys of config.json that say how the model runs, which transformers heeds when it builds it. */

typedef struct ms_model_config ms_model_config;

/* Fills the members asked_attention, asked_experts and asks_checkpoints, as transformers 5.24 takes
 * them: attention and experts from the file itself, checkpoints from the text model's object too.
 */
ms_status ms_run_keys_read(ms_arena *arena, ms_json_value root, ms_model_config *config,
                           ms_error *err);

#endif
