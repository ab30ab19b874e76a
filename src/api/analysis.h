/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public ms_analysis, for callers that need more than its reports.
 */
#ifndef MS_API_ANALYSIS_H
#define MS_API_ANALYSIS_H

#include "input/config/load/load.h"
#include "input/config/model/model_config.h"
#include "input/document/report.h"
#include "decide/ledger/advice.h"
#include "decide/ledger/ledger.h"
#include "memscope/memscope.h"
#include "run/simulate/simulate.h"

struct ms_analysis {
    ms_arena *arena; /* owns the configs */
    ms_model_config model;
    ms_run_config run;
    ms_notes notes;
    ms_simulated simulated;
    ms_ledger ledger;
    ms_advice advice;
    ms_style style;
    /* Which members are initialised. */
    bool is_simulated, has_ledger, has_advice;
    bool skips_advice;
};

/* As ms_analyze, with these settings; records files in `inputs`, or NULL. */
ms_analysis *ms_analyze_settings(const ms_run_setting *settings, size_t count, ms_inputs *inputs,
                                 ms_error *err);

/* The same for a run file that is a value of a document at `path` (NULL: no file); settings win. */
ms_analysis *ms_analyze_value(ms_json_value run, const char *path, const ms_run_setting *settings,
                              size_t count, ms_inputs *inputs, ms_error *err);

/* The JSON report without suggestions, in memory; the caller frees *text. */
ms_status ms_analysis_text(const ms_analysis *analysis, char **text, size_t *length, ms_error *err);

/* The report as a reader of its file gets it; texts in the arena. */
ms_status ms_analysis_report(const ms_analysis *analysis, ms_arena *arena, ms_report *report,
                             ms_error *err);

#endif
