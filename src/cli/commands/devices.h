/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * --device with several devices, of commands that otherwise answer for one.
 */
#ifndef MS_CLI_COMMANDS_DEVICES_H
#define MS_CLI_COMMANDS_DEVICES_H

#include "cli/parse/settings.h"
#include "memscope/devices.h"

/* Keeps a list of devices in the settings, until one device is given. False: the field is another,
 * or names one device. */
bool ms_cli_take_devices(ms_cli_settings *settings, const char *field, const char *value);

/* The fields of a run, with such lists. */
extern const ms_cli_fields ms_cli_many_run_fields[];

/* Prints notes and the table, which it frees; NULL: the error. The exit code: 0 when something fits
 * one of the devices, else that of `none`. */
int ms_cli_write_devices(const ms_cli_settings *settings, ms_devices *table, ms_status none,
                         ms_error *err);

#endif
