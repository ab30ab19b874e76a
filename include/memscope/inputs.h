/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The list of files that were read, for programs that must not overwrite their inputs. A run, a
 * plan, a sweep or a check that has such a list records every file it reads, including files that
 * are named inside others and files that turned out to be invalid.
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

/* May be used from several threads at the same time, except for ms_inputs_free. */
typedef struct ms_inputs ms_inputs;

ms_inputs *ms_inputs_create(void);      /* NULL when out of memory */
void ms_inputs_free(ms_inputs *inputs); /* NULL is fine */

/* Records the regular file of that name; "-" is standard input. A name that is no regular file, or
 * does not exist, is ignored. Fails only when memory is short. */
ms_status ms_inputs_add(ms_inputs *inputs, const char *path, ms_error *err);

/* The name under which the file of that name was read: compared by device and inode, so links make
 * no difference. "-" is standard output. NULL: it was not read, does not exist, or is no regular
 * file. The returned name lives as long as the list. */
const char *ms_inputs_find(ms_inputs *inputs, const char *path);

/* Keeps what is read in a folder: from now on a file outside of it, once links are followed, is not
 * opened, and no baseline of a check for baselines may be there. "-" remains standard input. To be
 * called before the list is used. MS_ERR_IO: there is no such folder. */
ms_status ms_inputs_set_root(ms_inputs *inputs, const char *folder, ms_error *err);

/* Whether two names lead to one regular file, or would lead to one new file: "x" and "./x", links
 * to it. Also false when memory is short. */
bool ms_is_same_file(const char *a, const char *b);

#ifdef __cplusplus
}
#endif
#endif
