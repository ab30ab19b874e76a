/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the keys of a trainer's files do to the memory of a step, of those keys that set nothing of
 * a run: configs/trainers/NAME.keys, one line a key:
 *
 *     KEY  EFFECT  VALUES  MEANING
 *
 * KEY is the path in the file, as "optimizer/lr"; "*" stands for any name. It covers what is below
 * it, unless a longer one does. EFFECT is a name of ms_key_effect, or "used" for a key that is read
 * elsewhere than in training_keys.c. VALUES are those with which the key changes nothing, with
 * commas between; "-" stands for null, false, 0, "", "no", "none", [] and {}.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_KEYS_KEY_TABLE_H
#define MS_INPUT_CONFIG_TRAINERS_KEYS_KEY_TABLE_H

#include "input/config/keys/read_keys.h"
#include "input/config/trainers/training_value.h"

typedef struct ms_key_row {
    const char *key, *values, *meaning; /* in the arena */
    bool is_used;
    ms_key_effect effect;
} ms_key_row;

typedef struct ms_key_rows {
    ms_key_row *rows;
    uint32_t count;
} ms_key_rows;

/* Reads the table of a format into `tables`, which have a place for each, unless it is there; those
 * of LLaMA-Factory and ms-swift begin with their own keys, then have TrainingArguments'. Fails when
 * memory is short, or on a line that is no row. */
ms_status ms_key_table_read(ms_arena *arena, ms_training_format format, ms_key_rows tables[],
                            ms_error *err);

/* How a row matches a path. */
typedef enum ms_key_match {
    MS_KEY_APART,
    MS_KEY_BELOW, /* the row is of something below the path */
    MS_KEY_ABOVE, /* the row covers the path */
    MS_KEY_EXACT
} ms_key_match;
ms_key_match ms_key_row_match(const char *key, const char *path);

/* Whether the table of the format has a row of the key, or of something below it. */
bool ms_key_is_listed(const char *name, ms_training_format format);

/* Whether the key changes nothing with this value. */
bool ms_key_row_allows(const ms_key_row *row, ms_json_value value);

#endif
