/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whether the null device can be loaded into a program.
 */
#ifndef MS_CLI_CAPTURE_EXECUTABLE_H
#define MS_CLI_CAPTURE_EXECUTABLE_H

#include "memscope/memscope.h"

/* Refuses programs that cannot be captured: set-uid programs and, if a library must be loaded,
 * programs of another ABI than memscope. For a script its interpreter counts. A missing program is
 * not an error here. */
ms_status ms_cli_check_program(const char *name, bool takes_library, ms_error *err);

/* Refuses a capture within a capture, and paths that LD_PRELOAD cannot contain. */
ms_status ms_cli_check_environment(ms_error *err);

/* Whether a program is statically linked. It may start others that are not, so this is certain only
 * after it has ended. */
bool ms_cli_is_static(const char *name);

#endif
