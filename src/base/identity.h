/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which file a path names, or would name once it is created.
 */
#ifndef MS_BASE_IDENTITY_H
#define MS_BASE_IDENTITY_H

#include <stdbool.h>

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
