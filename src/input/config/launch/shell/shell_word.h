/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One word of a shell's text, with what it expands to.
 */
#ifndef MS_INPUT_CONFIG_LAUNCH_SHELL_SHELL_WORD_H
#define MS_INPUT_CONFIG_LAUNCH_SHELL_SHELL_WORD_H

#include "input/config/launch/shell/shell_state.h"

/* Reads one word, which may become none or several. `*is_one`: there is a word here.
 */
ms_status ms_shell_word_read(ms_shell *shell, bool *is_one);

/* ---- shell number ---- */

/* Numbers that a shell computes: $(expr 16 / $N) and $((16 / N)). */

/* What a variable that is declared as a number takes of a text: the number that the text is, or
 * comes to as in (( )). NULL: that is not known, or there was no memory. */
const char *ms_shell_integer(const ms_shell *s, const char *text);

#endif
