/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A GPU through CUDA's runtime, driver and cuBLAS, which are loaded when the backend is opened.
 * Memory traffic is copies within the device.
 */
#ifndef MS_HARDWARE_REPLAY_CUDA_BACKEND_CUDA_H
#define MS_HARDWARE_REPLAY_CUDA_BACKEND_CUDA_H

#include "hardware/replay/backend.h"
#include "hardware/replay/cuda/cuda_library.h"

typedef struct ms_backend_cuda_options {
    uint32_t device;     /* its index, as CUDA_VISIBLE_DEVICES leaves them */
    const char *library; /* that answers all calls; NULL: see ms_replay_cuda_load */
    const ms_cuda *cuda; /* the functions themselves, of a test; NULL: loaded. Copied */
} ms_backend_cuda_options;

/* MS_ERR_IO: there is no such device, or its driver or libraries are missing or too old;
 * MS_ERR_OVER_BUDGET: it has no memory left for a context. */
ms_status ms_replay_cuda_open(const ms_backend_cuda_options *options, ms_backend **backend,
                              ms_error *err);

#endif
