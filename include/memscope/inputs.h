/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which files were read, for those who write and must not write over them. A run, a plan, a sweep
 * or a check that has such a list puts down every file it reads: those that are named inside of
 * others too, and those that turned out to be bad.
 *
 *     ms_inputs *inputs = ms_inputs_create();
 *     ms_run_set_inputs(run, inputs);
 *     ms_analysis *analysis = ms_analyze(run, &err);
 *     if (!ms_inputs_find(inputs, "report.json")) ... write it
 */
#ifndef MEMSCOPE_INPUTS_H
#define MEMSCOPE_INPUTS_H

#include <stdbool.h>

#include "memscope/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* May be used from several threads at a time, but for ms_inputs_free. */
typedef struct ms_inputs ms_inputs;

ms_inputs *ms_inputs_create(void);      /* NULL when out of memory */
void ms_inputs_free(ms_inputs *inputs); /* NULL is fine */

/* Records the regular file of that name; "-" is standard input. Other files, and files that do
 * not exist, are ignored. Fails only when memory is short. */
ms_status ms_inputs_add(ms_inputs *inputs, const char *path, ms_error *err);

/* Under which name the file that is there was read: by device and inode, so links make no
 * difference. "-" is standard output. NULL: it was not read, is not there, or is no regular file.
 * The name lives as long as the list. */
const char *ms_inputs_find(ms_inputs *inputs, const char *path);

/* Whether two names are those of one regular file, or would be of a new one: "x" and "./x", links
 * to it. False too when memory is short. */
bool ms_is_same_file(const char *a, const char *b);

#ifdef __cplusplus
}
#endif
#endif
