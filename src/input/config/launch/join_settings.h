/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Several files of training settings as the trainer that gets them all reads them.
 */
#ifndef MS_INPUT_CONFIG_LAUNCH_JOIN_SETTINGS_H
#define MS_INPUT_CONFIG_LAUNCH_JOIN_SETTINGS_H

#include "base/arena.h"
#include "base/error.h"
#include "input/config/model/notes.h"
#include "input/config/trainers/training_value.h"

/* ---- settings part ---- */

/* What a file of training settings is to the others that are read with it. */

typedef enum ms_settings_kind {
    MS_SETTINGS_DEFAULTS, /* of the recipe that is launched, which files replace */
    MS_SETTINGS_LAUNCHER, /* accelerate's file, or options of a launcher */
    MS_SETTINGS_TRAINER,
    MS_SETTINGS_ENGINE, /* DeepSpeed's configuration */
    MS_SETTINGS_WORDS   /* of a command line, which win */
} ms_settings_kind;

typedef struct ms_settings_part {
    ms_settings_kind kind;
    ms_json_value root;
    ms_training_format format; /* of a trainer's */
    bool is_deep;              /* its objects are joined with those of others, member by member */
} ms_settings_part;

/* Recognises a file by its own keys. Fails where it is of no trainer that is read. */
ms_status ms_settings_part_of(ms_json_value root, ms_settings_part *part, ms_error *err);

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
