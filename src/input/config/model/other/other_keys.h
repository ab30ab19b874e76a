/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Keys of config.json that no family reads: harmless ones, and those that are named.
 */
#ifndef MS_INPUT_CONFIG_MODEL_OTHER_OTHER_KEYS_H
#define MS_INPUT_CONFIG_MODEL_OTHER_OTHER_KEYS_H

#include "input/config/model/family.h"
#include "input/config/model/notes.h"
#include "base/json/value.h"

/* Notes every key, of the file and of the objects in it that describe parts of the model, that is
 * neither the family's nor known to have no effect on memory; those that look like another one's
 * misspelling with that one. */
ms_status ms_other_keys_note(ms_arena *arena, ms_json_value root, const ms_family *family,
                             ms_notes *notes, ms_error *err);

#endif
