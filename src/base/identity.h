/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Which file a name means, or would mean.
 */
#ifndef MS_BASE_IDENTITY_H
#define MS_BASE_IDENTITY_H

/* A text that is equal for two names of one file: its device and inode; of a file that is not there
 * those of the nearest folder that is, and the rest of the name. For free(); NULL when out of
 * memory. */
char *ms_file_identity(const char *path);

#endif
