/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/config/resolve/parallel/compared.h"

#include "input/config/model/model_config.h"
#include "input/config/run/layout.h"

/* ZeRO-3 gathers by module: what is in a block of experts, or of an adapter, was not compared, and
 * packed bases were not beside any shards. */
bool ms_knows_passes(const ms_model_config *model, const ms_run_config *run, bool has_adapter)
{
    const ms_parallel *parallel = &run->parallel;
    const ms_layout *layout = &parallel->layout;
    const bool is_packed = ms_is_packed(&run->quantization);
    switch (layout->kind) {
    case MS_PARALLEL_NONE:
        return true;
    case MS_PARALLEL_DDP:
        return !parallel->has_zero_optimizer;
    case MS_PARALLEL_ZERO:
        return !is_packed && (layout->stage < 3 || !(model->num_experts || has_adapter));
    case MS_PARALLEL_FSDP2:
        return !is_packed && !model->num_experts && layout->tensor <= 1 && layout->context <= 1 &&
               !ms_layout_has_stages(layout) && !parallel->reshard_ranks;
    case MS_PARALLEL_FSDP1:
    case MS_PARALLEL_TP:
    case MS_PARALLEL_PP:
    default:
        return false;
    }
}
