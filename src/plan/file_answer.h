/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Reports of plans for figures in a file.
 */
#ifndef MS_PLAN_FILE_ANSWER_H
#define MS_PLAN_FILE_ANSWER_H

#include "plan/file_plan.h"

/* Writes the plan as "console" or "json". */
ms_status ms_file_plan_write(const ms_file_plan *plan, const char *format, FILE *out,
                             ms_error *err);

#endif
