/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whether the null device can be put in front of a program.
 */
#ifndef MS_CLI_CAPTURE_EXECUTABLE_H
#define MS_CLI_CAPTURE_EXECUTABLE_H

#include "memscope/memscope.h"

/* Refuses what cannot be followed whatever it does: a set-uid program, and, where a library is to
 * be loaded into it, one of another kind than memscope itself. Scripts are their interpreters. What
 * is not there is left to who starts it. */
ms_status ms_cli_check_program(const char *name, bool takes_library, ms_error *err);

/* Refuses a capture within a capture, and what LD_PRELOAD must not have. */
ms_status ms_cli_check_environment(ms_error *err);

/* Such a program may start others that are not, so that this is known for sure when it has ended.
 */
bool ms_cli_is_static(const char *name);

#endif
