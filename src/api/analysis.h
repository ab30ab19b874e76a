/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The public ms_analysis, for those who need more of it than its reports.
 */
#ifndef MS_API_ANALYSIS_H
#define MS_API_ANALYSIS_H

#include "config/load/load.h"
#include "document/report.h"
#include "ledger/advice.h"
#include "ledger/ledger.h"
#include "memscope/memscope.h"
#include "simulate/simulate.h"

struct ms_analysis {
    ms_arena *arena; /* of the configs */
    ms_model_config model;
    ms_run_config run;
    ms_notes notes;
    ms_simulated simulated;
    ms_ledger ledger;
    ms_advice advice;
    ms_style style;
    /* Which of these are there to be freed. */
    bool is_simulated, has_ledger, has_advice;
};

/* As ms_analyze, of these settings; the files that are read go to `inputs`, or NULL. */
ms_analysis *ms_analyze_settings(const ms_run_setting *settings, size_t count, ms_inputs *inputs,
                                 ms_error *err);

/* The same for a run file that is a value of a document at `path` (NULL: nowhere); settings win. */
ms_analysis *ms_analyze_value(ms_json_value run, const char *path, const ms_run_setting *settings,
                              size_t count, ms_inputs *inputs, ms_error *err);

/* The JSON report without suggestions, to memory: `*text` is the caller's to free. */
ms_status ms_analysis_text(const ms_analysis *analysis, char **text, size_t *length, ms_error *err);

/* What the report states, as a reader of the file gets it; texts in the arena. */
ms_status ms_analysis_report(const ms_analysis *analysis, ms_arena *arena, ms_report *report,
                             ms_error *err);

#endif
