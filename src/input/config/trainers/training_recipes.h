/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * fully_shard in the files of torchtune's distributed recipes, and of torchtitan: its TOML of 2025.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_TRAINING_RECIPES_H
#define MS_INPUT_CONFIG_TRAINERS_TRAINING_RECIPES_H

#include "input/config/trainers/training_ranks.h"

/* Set the layout and its options. Refuse what is not predicted, by its name; ask for the number of
 * ranks. `*is_read` is false if --parallel gives another technique. */
ms_status ms_training_read_recipe(ms_training_ranks *t, bool *is_read);
ms_status ms_training_read_titan(ms_training_ranks *t, bool *is_read);

/* A file of torchtune's that does not say how it shards is sharded over all ranks that it is
 * launched on: --world. */
void ms_training_share_recipe(const ms_training_reading *r, ms_json_value root,
                              ms_sharding *sharding);

/* torchtitan's checkpoints and optimizer, whatever shards. */
ms_status ms_training_read_titan_step(const ms_training_ranks *t);

/* torchtitan's types of the shards and the computation; of autocast where nothing is sharded. */
ms_status ms_training_set_titan_types(ms_training_reading *r);

/* "fsdp=8" or "hsdp=2x4" by the pointers of two numbers, of copies and of shards; a number of
 * shards that is -1, or not there, is what is left. */
ms_status ms_training_layout_of(const ms_training_ranks *t, const char *replicate,
                                const char *shard, const char **layout);

/* ---- training tune ---- */

/* What torchtune's recipes (0.7) have of their own: the loss in pieces, optimizers that step in
 * backward, saved tensors on the host. */

/* Of torchtune's files, once checkpointing and the ranks are known. Options of the run win. */
ms_status ms_training_set_tune(ms_training_reading *r);

#endif
