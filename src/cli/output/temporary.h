/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A file beside the one it will replace. A signal that ends the program removes it first.
 */
#ifndef MS_CLI_OUTPUT_TEMPORARY_H
#define MS_CLI_OUTPUT_TEMPORARY_H

/* Makes a file as mkstemp does; there is one at a time. The name lives until ms_cli_temporary_done.
 * Returns a descriptor; below 0: errno says why. */
int ms_cli_temporary_make(char *name);

/* It has got its name, or is removed. */
void ms_cli_temporary_done(void);

#endif
