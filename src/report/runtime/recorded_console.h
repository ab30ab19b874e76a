/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MS_REPORT_RUNTIME_RECORDED_CONSOLE_H
#define MS_REPORT_RUNTIME_RECORDED_CONSOLE_H

#include <stdio.h>

#include "document/recorded.h"

/* A runtime report for people, in the report's style. Failures of `out` are the caller's. */
ms_status ms_recorded_console(const ms_recorded *r, FILE *out, ms_error *err);

#endif
