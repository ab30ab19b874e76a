/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How text on standard output is laid out.
 */
#ifndef MS_CLI_OUTPUT_TERMINAL_H
#define MS_CLI_OUTPUT_TERMINAL_H

#include <stddef.h>

#include "memscope/memscope.h"

typedef enum ms_cli_color { MS_COLOR_AUTO, MS_COLOR_ALWAYS, MS_COLOR_NEVER } ms_cli_color;
const char *ms_cli_color_name(size_t index); /* by ms_cli_color; NULL past the last */

/* How text on stdout is laid out. */
ms_style ms_cli_style(ms_cli_color color);

#endif
