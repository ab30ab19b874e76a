/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Numbers that a shell computes: $(expr 16 / $N) and $((16 / N)).
 */
#ifndef MS_INPUT_CONFIG_LAUNCH_SHELL_SHELL_NUMBER_H
#define MS_INPUT_CONFIG_LAUNCH_SHELL_SHELL_NUMBER_H

#include "input/config/launch/shell/shell_state.h"

/* What is between the brackets, "expr 16 / $N" or "(16 / N)", as a number: whole numbers, or
 * variables of such, with * / and %, or + and -, between. False: it is something else. */
bool ms_shell_number(const ms_shell *s, const char *text, size_t bytes, long *number);

/* What a variable that is declared as a number takes of a text: the number that the text is, or
 * comes to as in (( )). NULL: that is not known, or there was no memory. */
const char *ms_shell_integer(const ms_shell *s, const char *text);

#endif
