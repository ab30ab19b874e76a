/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Several files of training settings as the trainer that gets them all reads them.
 */
#ifndef MS_INPUT_CONFIG_LAUNCH_JOIN_SETTINGS_H
#define MS_INPUT_CONFIG_LAUNCH_JOIN_SETTINGS_H

#include "base/arena.h"
#include "input/config/launch/settings_part.h"
#include "input/config/model/notes.h"

/* Joins parts in the order in which they are given: a trainer's settings win over its launcher's,
 * later ones over earlier ones, and words over files. A configuration of DeepSpeed's is the
 * trainer's `deepspeed`. A note says of each key that is there twice with two values which one is
 * used. Refused, with the place: files of two trainers, two configurations of DeepSpeed, two
 * libraries that shard, and a launcher or an engine that the trainer does not have; where there are
 * two configurations or libraries, `merged` is made all the same, to find further refusals. The
 * documents must outlive `merged`, which the caller releases with ms_json_free. */
ms_status ms_settings_join(ms_arena *arena, const ms_settings_part *parts, size_t count,
                           ms_json **merged, ms_notes *notes, ms_error *err);

#endif
