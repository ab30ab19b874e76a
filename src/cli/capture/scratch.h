/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A folder for what is not whole yet, beside the files that it will replace.
 */
#ifndef MS_CLI_CAPTURE_SCRATCH_H
#define MS_CLI_CAPTURE_SCRATCH_H

#include "memscope/memscope.h"

enum { MS_CLI_SCRATCH_BYTES = 4096 };

/* Whoever has the lock uses the folder. Programs that are started inherit it, so that one that
 * outlives memscope keeps its folder. */
typedef struct ms_cli_scratch {
    char path[MS_CLI_SCRATCH_BYTES];
    int lock;
} ms_cli_scratch;

/* Makes the folder inside `place`, and removes those that ended runs of memscope left there: only
 * what memscope made and nobody has locked. */
ms_status ms_cli_scratch_make(const char *place, ms_cli_scratch *scratch, ms_error *err);
void ms_cli_scratch_remove(ms_cli_scratch *scratch);

#endif
