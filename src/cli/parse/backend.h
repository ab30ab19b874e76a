/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Options of commands that run something on a device.
 */
#ifndef MS_CLI_PARSE_BACKEND_H
#define MS_CLI_PARSE_BACKEND_H

#include "cli/parse/settings.h"

/* --backend, --device-index and --capacity, for rows of options. */
ms_status ms_cli_set_backend(ms_cli_settings *settings, const char *value, ms_error *err);
ms_status ms_cli_set_device_index(ms_cli_settings *settings, const char *value, ms_error *err);
ms_status ms_cli_set_capacity(ms_cli_settings *settings, const char *value, ms_error *err);

/* The backend that was asked for, or the default. */
const char *ms_cli_backend(const ms_cli_settings *settings);

/* Refuses options that the backend does not have. */
void ms_cli_check_backend(const ms_cli_settings *settings, ms_error *err);

/* Reports a failure, and where it is that of a device before anything ran, the host instead:
 * "; --backend host probes this machine's memory instead". Returns the exit code. */
int ms_cli_complain_of_backend(const ms_cli_settings *settings, const ms_error *err, bool has_begun,
                               const char *instead);

#endif
