/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The mesh of ranks in files of training settings, and ranks that share the work without shards.
 */
#ifndef MS_INPUT_CONFIG_TRAINERS_SHARDING_TRAINING_MESH_H
#define MS_INPUT_CONFIG_TRAINERS_SHARDING_TRAINING_MESH_H

#include "input/config/trainers/training_ranks.h"

/* Reads the sizes of the mesh of ranks: of accelerate's parallelism_config, or axolotl's. Those of
 * techniques that are not predicted from a file are left out of the figures, as if their ranks had
 * shards too; if --parallel is given, `*is_read` is false instead. */
ms_status ms_training_read_mesh(ms_training_ranks *t, bool *is_read);
/* Leaves out what divides the work of a model that is whole on every GPU; fails where something
 * else shards, which is not read. */
ms_status ms_training_share_otherwise(ms_training_ranks *t);
/* Notes that so many ranks share each sequence, to be left out once its length is known. */
ms_status ms_training_take_ring(const ms_training_ranks *t, ms_json_value value, uint64_t ranks);
/* Leaves that out of the figures, which are of whole sequences. */
ms_status ms_training_leave_out_ring(ms_training_reading *r);

#endif
