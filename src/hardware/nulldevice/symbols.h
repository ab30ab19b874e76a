/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Functions of the program itself: its libraries export theirs, it does not.
 */
#ifndef MS_HARDWARE_NULLDEVICE_SYMBOLS_H
#define MS_HARDWARE_NULLDEVICE_SYMBOLS_H

/* The name of the program's function with that instruction, or NULL. */
const char *ms_null_symbol_of(const void *instruction);

#endif
