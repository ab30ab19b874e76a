/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The process's own memory.
 */
#ifndef MS_CLI_OUTPUT_MEMORY_H
#define MS_CLI_OUTPUT_MEMORY_H

/* From now on memory that is freed is kept for what is allocated next. */
void ms_cli_keep_memory(void);

#endif
