/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A budget of inference: "infer" of an entry.
 */
#ifndef MS_API_CHECK_DEPLOYMENT_H
#define MS_API_CHECK_DEPLOYMENT_H

#include "decide/check/verdict.h"
#include "memscope/inputs.h"

/* Predicts the entry's deployment. The caller frees *text, the JSON of infer. `path`: of the
 * budgets file. An error of a setting has its place. */
ms_status ms_deployment_text(ms_arena *arena, const ms_budget *budget, const char *path,
                             ms_inputs *inputs, char **text, size_t *length, ms_error *err);
/* The same text as a report. */
ms_status ms_deployment_report(ms_arena *arena, const char *text, size_t length, ms_report *report,
                               ms_error *err);

#endif
