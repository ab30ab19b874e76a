/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Signals that stop what runs.
 */
#ifndef MS_CLI_OUTPUT_INTERRUPT_H
#define MS_CLI_OUTPUT_INTERRUPT_H

/* From now on that signal calls `stop`, and a second one ends the program; NULL: no more. Leaves
 * alone a signal that the parent process had set to be ignored. */
typedef void (*ms_cli_stop)(void *what);
void ms_cli_stop_on_signal(int number, ms_cli_stop stop, void *what);

#endif
