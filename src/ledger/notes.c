/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ledger/ledger.h"

static const char *const cuda_notes[] = {
    "the CUDA context and the modules it loads: an estimate with a range, not simulated",
    "workspaces of libraries other than cuBLAS (cuDNN, NCCL, Triton autotuning)",
    "other processes on the device, and what the data loader or logging keeps there",
    "tensors kept by user code between steps (metrics, extra references to logits or the loss)",
    "torch.compile and CUDA graphs: the step is run eagerly",
    "more than one device: data, tensor and pipeline parallelism",
    NULL,
};

static const char *const cpu_notes[] = {
    "the Python process, its libraries and the data set",
    "rounding and fragmentation in the C library's heap",
    "tensors kept by user code between steps (metrics, extra references to logits or the loss)",
    "torch.compile: the step is run eagerly",
    NULL,
};

const char *const *ms_ledger_not_modelled(const ms_run_config *run)
{
    return run->device->is_cpu ? cpu_notes : cuda_notes;
}
