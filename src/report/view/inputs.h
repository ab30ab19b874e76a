/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * "How the files were read": the keys of a run's files in reports, and what a verdict says of those
 * that the figures leave out. Nothing is written where a run has no such files.
 */
#ifndef MS_REPORT_VIEW_INPUTS_H
#define MS_REPORT_VIEW_INPUTS_H

#include "input/config/run/run_config.h"
#include "base/json/members.h"
#include "report/kit/tree/tree.h"

/* "not predicted: qat (line 3 of train.yaml), which adds memory; and 2 more": what makes a verdict
 * unknown, and the way out. NULL: out of memory. */
const char *ms_inputs_why(ms_arena *arena, const ms_read_keys *keys);

/* A verdict with the versions that the files are read by: "..., as transformers 5.23". NULL: out of
 * memory, or no verdict. */
const char *ms_inputs_dated(ms_arena *arena, const ms_read_keys *keys, const char *verdict);

/* On the console the keys that the user should know of, and how many there are besides; elsewhere
 * all. */
void ms_inputs_tree(ms_tree *tree, const ms_read_keys *keys);
/* The members "inputs", a list, and "versions", a text. */
extern const ms_members ms_inputs_table;
void ms_inputs_json(ms_json_writer *w, const ms_read_keys *keys);

#endif
