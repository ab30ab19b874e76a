/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Runs a program with the hook in its Python and, unless on a real GPU, the null device in front of
 * CUDA.
 */
#ifndef MS_CLI_PROGRAM_H
#define MS_CLI_PROGRAM_H

#include "memscope/recorded.h"

typedef struct ms_cli_capture_request {
    char **program;                /* with arguments; ends with NULL */
    const ms_device_facts *device; /* NULL: the GPUs that are there */
    const char *folder;            /* where the hook writes */
    const char *loss;              /* what values are when they are read back; NULL: not told */
    uint64_t steps, seconds, device_count;
    uint64_t ranks; /* of the world that the program is one rank of; 0: its own affair */
    bool traces_calls;
} ms_cli_capture_request;

typedef struct ms_cli_ending {
    bool timed_out;
    int signal; /* that ended it, or 0 */
    int code;
} ms_cli_ending;

/* Waits for its end, which it brings about after `seconds`. */
ms_status ms_cli_run_program(const ms_cli_capture_request *request, ms_cli_ending *ending,
                             ms_error *err);

/* A file of the package memscope_torch, where it was built or is installed. */
ms_status ms_cli_find_script(const char *name, char *path, size_t size, ms_error *err);

#endif
