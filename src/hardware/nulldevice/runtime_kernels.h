/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CUDA's runtime: streams, events and kernels.
 */
#ifndef MS_HARDWARE_NULLDEVICE_RUNTIME_KERNELS_H
#define MS_HARDWARE_NULLDEVICE_RUNTIME_KERNELS_H

#include "hardware/nulldevice/runtime_types.h"

/* Fills in the attributes reported for every kernel. */
void ms_null_describe_function(ms_null_function *f);

#endif
