/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The figures that a calibration changed, for every format. Nothing is written without a
 * calibration.
 */
#ifndef MS_REPORT_VIEW_CALIBRATED_H
#define MS_REPORT_VIEW_CALIBRATED_H

#include "input/config/run/run_config.h"
#include "base/json/write.h"
#include "report/kit/tree/tree.h"

/* On a page, beside the verdict; elsewhere a section. */
void ms_calibrated_notes_tree(ms_tree *tree, const ms_run_config *run);
void ms_calibrated_tree(ms_tree *tree, const ms_run_config *run);
void ms_calibrated_json(ms_json_writer *w, const ms_run_config *run, ms_arena *arena);

#endif
