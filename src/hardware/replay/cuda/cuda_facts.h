/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What CUDA says of a device.
 */
#ifndef MS_HARDWARE_REPLAY_CUDA_CUDA_FACTS_H
#define MS_HARDWARE_REPLAY_CUDA_CUDA_FACTS_H

#include "hardware/replay/backend.h"
#include "hardware/replay/cuda/cuda_library.h"

/* CUDA's code. */
int ms_replay_cuda_facts(const ms_cuda *cuda, int device, ms_backend_facts *facts);

#endif
