/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A temporary file beside the one it will replace. A signal that ends the program removes it first.
 */
#ifndef MS_CLI_OUTPUT_TEMPORARY_H
#define MS_CLI_OUTPUT_TEMPORARY_H

/* Creates a file as mkstemp does, one at a time. `name` must stay valid until
 * ms_cli_temporary_done. Returns a descriptor; on failure a negative number, with errno set. */
int ms_cli_temporary_make(char *name);

/* Call it when the file was renamed or removed. */
void ms_cli_temporary_done(void);

#endif
