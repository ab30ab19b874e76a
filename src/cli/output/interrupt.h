/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Signals that stop a running search.
 */
#ifndef MS_CLI_OUTPUT_INTERRUPT_H
#define MS_CLI_OUTPUT_INTERRUPT_H

/* The first such signal calls `stop`, a second one ends the program; NULL as `stop` restores the
 * default. A signal that the parent process set to be ignored stays ignored. */
typedef void (*ms_cli_stop)(void *what);
void ms_cli_stop_on_signal(int number, ms_cli_stop stop, void *what);

#endif
