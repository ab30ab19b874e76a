/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The process's own memory.
 */
#ifndef MS_CLI_OUTPUT_MEMORY_H
#define MS_CLI_OUTPUT_MEMORY_H

/* From now on freed memory is kept for later allocations instead of being returned to the system.
 */
void ms_cli_keep_memory(void);

#endif
