/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Writers of the channels of a check; their rows are in check_report.c.
 */
#ifndef MS_REPORT_CHECK_CHECK_CHANNELS_H
#define MS_REPORT_CHECK_CHECK_CHANNELS_H

#include <stdio.h>

#include "report/check/check_view.h"

void ms_check_console(FILE *out, const ms_check_view *view);
void ms_check_json(FILE *out, const ms_check_view *view);
void ms_check_markdown(FILE *out, const ms_check_view *view);
void ms_check_junit(FILE *out, const ms_check_view *view);
void ms_check_github(FILE *out, const ms_check_view *view);
void ms_check_sarif(FILE *out, const ms_check_view *view);
void ms_check_gitlab(FILE *out, const ms_check_view *view);
void ms_check_benchmark(FILE *out, const ms_check_view *view);
void ms_check_shields(FILE *out, const ms_check_view *view);
void ms_check_prometheus(FILE *out, const ms_check_view *view);

#endif
