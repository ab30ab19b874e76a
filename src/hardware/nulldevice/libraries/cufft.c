/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cuFFT: plans need work areas whose size only the real library knows.
 */
#include "hardware/nulldevice/nulldevice.h"

enum { CUFFT_NOT_SUPPORTED = 16 };

/* clang-format off */
#define SUCCEEDS(name) MS_NULL_SUCCEEDS(name)
SUCCEEDS(cufftDestroy) SUCCEEDS(cufftSetAutoAllocation) SUCCEEDS(cufftSetStream)

#define UNCOVERED(name) MS_NULL_UNCOVERED(name, CUFFT_NOT_SUPPORTED)
UNCOVERED(cufftCreate) UNCOVERED(cufftSetWorkArea) UNCOVERED(cufftXtExec) UNCOVERED(cufftXtMakePlanMany)
    /* clang-format on */
