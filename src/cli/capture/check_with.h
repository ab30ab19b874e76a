/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * analyze --check-with capture: runs the predicted step in PyTorch.
 */
#ifndef MS_CLI_CAPTURE_CHECK_WITH_H
#define MS_CLI_CAPTURE_CHECK_WITH_H

#include "cli/parse/settings.h"

/* `folder` has the static_report.json of `analysis`; the runtime report is written there, too.
 * Prints the comparison. */
ms_status ms_cli_check_with_capture(const ms_cli_settings *settings, const char *folder,
                                    const ms_analysis *analysis, ms_error *err);

#endif
