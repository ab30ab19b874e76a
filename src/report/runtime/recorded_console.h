/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_REPORT_RUNTIME_RECORDED_CONSOLE_H
#define MS_REPORT_RUNTIME_RECORDED_CONSOLE_H

#include <stdio.h>

#include "input/document/recorded.h"

/* Writes a runtime report as console text, in the report's style. The caller checks `out` for
 * errors. */
ms_status ms_recorded_console(const ms_recorded *r, FILE *out, ms_error *err);

#endif
