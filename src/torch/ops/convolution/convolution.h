/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Convolutions along the time of a sound.
 */
#ifndef MS_TORCH_OPS_CONVOLUTION_CONVOLUTION_H
#define MS_TORCH_OPS_CONVOLUTION_CONVOLUTION_H

#include "torch/autograd/tape.h"

/* ---- sound ---- */

/* Convolutions along the time of a sound. */

/* conv1d of [B, C, frames] with weight [H, C, 3]: [B, H, out]. What libraries allocate inside is
 * not modelled, but for the CPU's buffer of the output's size. */
ms_tensor ms_convolve(ms_tape *tape, ms_tensor x, ms_tensor weight, ms_tensor bias, ms_dim out);

#endif
