/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tensor parallelism (DTensor's parallelize_module): a plan names the modules whose parameters are
 * split over the ranks, and how; families know nothing of it. Dimensions of a model are those of
 * all ranks while it is built, and this rank's afterwards. Without tensor parallelism nothing here
 * has an effect.
 */
#ifndef MS_MODEL_BLOCKS_TENSOR_PARALLEL_H
#define MS_MODEL_BLOCKS_TENSOR_PARALLEL_H

#include "model/blocks/model.h"

/* Reduces the shape of a new weight to this rank's part, by the plan's row for its module. */
void ms_plan_shard(ms_model *model, const char *name, ms_dim *rows, ms_dim *columns);
/* After the model was built: its linear layers work together from now on. */
void ms_tensor_parallel_attach(ms_model *model);
/* The tokens of a sequence that a rank has between attention and MLP. */
ms_dim ms_rank_tokens(const ms_model *model);
/* The positions, which every rank is given for all tokens; on the device, after the parameters.
 * Stages of a pipeline make their own. */
void ms_tensor_parallel_positions(ms_model *model);

/* The rows of the input's embedding. */
ms_tensor ms_table_call(ms_model *model, ms_tensor weight, ms_tensor ids);
/* The input of attention or of an MLP: all tokens, where the ranks have parts of them. */
ms_tensor ms_module_input(ms_model *model, ms_tensor hidden);
/* Around the operators of a norm, which each rank runs on its part; *x: its input. */
bool ms_norm_begin(ms_model *model, ms_tensor *x);
void ms_norm_end(ms_model *model, bool outer);
/* cross_entropy(logits.flatten(0, 1).float(), labels.flatten(0, 1)) of split logits. */
ms_tensor ms_split_loss(ms_model *model, ms_tensor logits, ms_tensor labels);

#endif
