/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The layout of text on standard output.
 */
#ifndef MS_CLI_OUTPUT_TERMINAL_H
#define MS_CLI_OUTPUT_TERMINAL_H

#include <stddef.h>

#include "memscope/memscope.h"
#include "memscope/sweep.h"

typedef enum ms_cli_color { MS_COLOR_AUTO, MS_COLOR_ALWAYS, MS_COLOR_NEVER } ms_cli_color;
const char *ms_cli_color_name(size_t index); /* by ms_cli_color; NULL past the last */

/* COLUMNS, or how wide the terminal of standard output is; 0: neither is known. */
uint32_t ms_cli_columns(void);
/* The style for standard output: width, colours, Unicode. */
ms_style ms_cli_style(ms_cli_color color);

/* ---- progress ---- */

/* The progress bar of a sweep. */

/* Shown on standard error if that is a terminal. */
typedef struct ms_cli_progress {
    bool is_shown;
    uint64_t first; /* points done by an earlier run */
    double start_s, shown_s;
} ms_cli_progress;

ms_cli_progress ms_cli_progress_begin(bool quiet, uint64_t done);
void ms_cli_progress_show(ms_cli_progress *progress, const ms_sweep_progress *state);
void ms_cli_progress_end(const ms_cli_progress *progress);

#endif
