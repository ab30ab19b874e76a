/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A temporary folder for incomplete files, beside the files they will replace.
 */
#ifndef MS_CLI_CAPTURE_SCRATCH_H
#define MS_CLI_CAPTURE_SCRATCH_H

#include "memscope/memscope.h"

enum { MS_CLI_SCRATCH_BYTES = 4096 };

/* A locked folder is in use. Started programs inherit the lock, so that one that outlives memscope
 * keeps its folder. */
typedef struct ms_cli_scratch {
    char path[MS_CLI_SCRATCH_BYTES];
    int lock;
} ms_cli_scratch;

/* Creates the folder in `place`, and removes folders left there by earlier runs of memscope, if
 * they are not locked. */
ms_status ms_cli_scratch_make(const char *place, ms_cli_scratch *scratch, ms_error *err);
void ms_cli_scratch_remove(ms_cli_scratch *scratch);

#endif
