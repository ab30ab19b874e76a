/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tells of every key of a trainer's file how it was read.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_KEYS_KEY_WALK_H
#define MS_INPUT_CONFIG_TRAINERS_KEYS_KEY_WALK_H

#include "input/config/trainers/training_reading.h"

/* Adds the keys of an object in this format to those of the reading, but for those that are there.
 * `path` is the path of the object, as of a file that the settings name: "fsdp_config"; "" for the
 * settings themselves. Called once everything has been read. */
ms_status ms_training_walk_keys(const ms_training_reading *r, ms_training_format format,
                                ms_json_value root, const char *path);

/* Adds one key, of which the caller gives reading, effect, meaning and, where it is known, the
 * bound; `path` NULL: by its place in its document. A value of NULL: the text in the file. The
 * texts must be in the arena. */
ms_status ms_training_add_read_key(const ms_training_reading *r, ms_json_value value,
                                   const char *path, ms_read_key key);
/* The same, without a bound. */
ms_status ms_training_add_key(const ms_training_reading *r, ms_json_value value, const char *path,
                              ms_key_reading reading, ms_key_effect effect, const char *meaning);

/* Takes the user's word for the keys that `list` names, "qat=harmless,rl=harmless": those that the
 * figures leave out no longer decide the verdict. Fails on another form, and on a key that no file
 * has. NULL: nothing. */
ms_status ms_read_keys_assume(ms_read_keys *keys, const char *list, ms_error *err);

#endif
