/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "advise/kept.h"

uint64_t ms_kept_bytes(const ms_run_config *run, const ms_simulation *s)
{
    const ms_training *training = &run->training;
    if (run->parallel.layout.kind != MS_PARALLEL_NONE)
        return s->weight_bytes;
    uint64_t bytes = s->weight_bytes;
    if (training->optimizer_device == MS_OPTIMIZER_ON_DEVICE)
        bytes += s->optimizer_state_bytes;
    if (!training->optimizer_in_backward && run->parameter_device == MS_PARAMETERS_ON_DEVICE)
        bytes += s->gradient_bytes;
    return bytes;
}
