/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The list of files that were read, as the library fills it; memscope/inputs.h is the public part.
 */
#ifndef MS_BASE_INPUTS_H
#define MS_BASE_INPUTS_H

#include <sys/stat.h>

#include "memscope/inputs.h"

/* Records an open file; one that is not regular is ignored. `inputs` may be NULL. */
ms_status ms_inputs_note(ms_inputs *inputs, const char *name, const struct stat *file,
                         ms_error *err);

/* MS_ERR_IO, with a reason that lacks the name: `path` is outside of the root of the inputs.
 * Without inputs, or without a root, everything is admitted. */
ms_status ms_inputs_admit(const ms_inputs *inputs, const char *path, ms_error *err);
bool ms_inputs_has_root(const ms_inputs *inputs);

/* ---- identity ---- */

/* Which file a path names, or would name once it is created. */

/* A text that is equal for two names of one file: device and inode. For a file that does not exist:
 * those of the nearest existing folder, and the rest of the path. The caller frees it; NULL when
 * out of memory. */
char *ms_file_identity(const char *path);

/* The absolute path, with links followed; what does not exist yet is appended as it is named. The
 * caller frees it; NULL, with errno, when out of memory (ENOMEM) or where a link leads nowhere. */
char *ms_file_resolve(const char *path);

/* Whether a resolved path is a resolved folder, or below it. */
bool ms_file_is_within(const char *path, const char *folder);

#endif
