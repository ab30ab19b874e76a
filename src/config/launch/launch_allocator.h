/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a launch says to PyTorch's allocator.
 */
#ifndef MS_CONFIG_LAUNCH_LAUNCH_ALLOCATOR_H
#define MS_CONFIG_LAUNCH_LAUNCH_ALLOCATOR_H

#include "config/launch/launch_words.h"

/* Adds the variable of the environment that the allocator reads as a setting of the trainer, where
 * the launch, or the program at the word, has one. */
ms_status ms_launch_take_allocator(ms_launch *l, uint32_t word);

#endif
