/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Options of several ranks that a file of training settings implies, while it is read.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_TRAINING_RANKS_H
#define MS_INPUT_CONFIG_TRAINERS_TRAINING_RANKS_H

#include "input/config/trainers/training_reading.h"
#include "input/config/trainers/training_sharding.h"

/* Settings that shard: `config` has them, beside or in the file. */
typedef struct ms_training_ranks {
    ms_training_reading *r;
    const ms_sharding *sharding;
    ms_json_value root, config;
    bool has_own_config;     /* it is a configuration of DeepSpeed's */
    bool is_launched;        /* the file is accelerate's own, whose defaults are its launcher's */
    bool is_given;           /* --parallel says how ranks share the training */
    uint64_t copies, shards; /* of the mesh of ranks; 0: the file does not say */
    uint64_t others;         /* ranks of each of them that divide something else; 0: one */
    bool splits;             /* these divide layers or experts, not sequences alone */
} ms_training_ranks;

/* How many ranks options give, those of --parallel, too; 0: none do. */
uint64_t ms_training_given_world(const ms_training_reading *r);
/* How many ranks there are: by the file, or --world. Asks for it if neither says so, and refuses
 * two numbers that differ. */
ms_status ms_training_world(const ms_training_ranks *t, uint64_t *world);

/* Fails: every GPU holds everything, and weights in fp32 besides. */
ms_status ms_training_refuse_whole(const ms_training_ranks *t);

/* Counts so many ranks more for each of `others`; fails at the value where there are too many. */
ms_status ms_training_add_others(ms_training_ranks *t, ms_json_value value, uint64_t ranks);

/* Sets a field unless it is set; its name is remembered for the note. */
ms_status ms_training_set_option(const ms_training_ranks *t, const char *field, const char *text);
/* Sets the layout. If --parallel gives another technique, what the file says of its own is not
 * read:
 * `*is_read` is false. */
ms_status ms_training_set_layout(const ms_training_ranks *t, const char *layout, bool *is_read);
/* Fails at a value: what it says is not predicted. */
#define ms_training_refuse(t, value, ...)                                                          \
    ms_json_fail((t)->r->err, value, MS_JSON_AT_VALUE, MS_ERR_CONFIG, __VA_ARGS__)

/* Leaves out of the figures what a value asks for. */
ms_status ms_training_set_aside(const ms_training_ranks *t, ms_json_value value,
                                ms_key_effect effect, const char *meaning);

/* true and false, also as texts; `absent` for what is neither. */
bool ms_training_truth(ms_json_value value, bool absent);

/* The place in a list of words, NULL-terminated, of one of them or of its number from 1; -1:
 * neither. */
int ms_training_word_of(ms_json_value value, const char *const *words);

/* Sets what Trainer gives DistributedDataParallel and DeepSpeed where the ranks have them, if the
 * file is of Trainer's own settings: the former looks for unused parameters unless layers are
 * checkpointed, the latter has two groups of parameters. */
ms_status ms_training_set_of_trainer(ms_training_reading *r, ms_json_value root);

/* A note that says as which options the file was read. */
ms_status ms_training_note_ranks(const ms_training_ranks *t);

#endif
