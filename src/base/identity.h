/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which file a path names, or would name once it is created.
 */
#ifndef MS_BASE_IDENTITY_H
#define MS_BASE_IDENTITY_H

/* A text that is equal for two names of one file: device and inode. For a file that does not exist:
 * those of the nearest existing folder, and the rest of the path. The caller frees it; NULL when
 * out of memory. */
char *ms_file_identity(const char *path);

#endif
