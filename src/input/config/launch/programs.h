/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The program that a launch starts, and its arguments.
 */
#ifndef MS_INPUT_CONFIG_LAUNCH_PROGRAMS_H
#define MS_INPUT_CONFIG_LAUNCH_PROGRAMS_H

#include "input/config/launch/launch_words.h"

/* Reads the program at a word of the launch, and what follows it. Refuses those that are not read,
 * by name, and settings whose values are not known. */
ms_status ms_launch_take_program(ms_launch *launch, uint32_t at);

#endif
