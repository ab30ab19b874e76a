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

#endif
