/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Runs a program with memscope's hook in its Python and, unless on a real GPU, the null device in
 * place of CUDA.
 */
#ifndef MS_CLI_CAPTURE_PROGRAM_H
#define MS_CLI_CAPTURE_PROGRAM_H

#include <signal.h>

#include "memscope/recorded.h"

/* Signals that would end memscope: blocked from one call to the other, and meanwhile passed on to
 * the running program. */
typedef struct ms_cli_held_signals {
    sigset_t held, before;
} ms_cli_held_signals;
void ms_cli_hold_signals(ms_cli_held_signals *signals);
void ms_cli_release_signals(const ms_cli_held_signals *signals);

typedef struct ms_cli_capture_request {
    char **program;                /* with arguments; ends with NULL */
    const ms_device_facts *device; /* NULL: the real GPUs */
    const char *folder;            /* where the hook writes */
    const ms_cli_held_signals *signals;
    const char *loss; /* value of the loss when it is read back; NULL: not given */
    uint64_t steps, seconds, device_count;
    uint64_t ranks; /* world size, of which the program is one rank; 0: not set */
    uint64_t rank;
    const char *kept; /* a folder for what ranks send to those that run later; NULL: none does */
    bool traces_calls, writes_trace, hides_paths;
} ms_cli_capture_request;

typedef struct ms_cli_ending {
    bool timed_out;
    int interrupted; /* the signal that memscope received and passed on, or 0 */
    int signal;      /* the signal that ended it, or 0 */
    int code;
} ms_cli_ending;

/* How it ended, behind the words "the program". */
enum { MS_CLI_HOW_BYTES = 128 };
void ms_cli_describe(const ms_cli_ending *ending, const ms_cli_capture_request *request,
                     char how[MS_CLI_HOW_BYTES]);

/* Waits for the program to end; ends it after `seconds`, or soon after a signal. */
ms_status ms_cli_run_program(const ms_cli_capture_request *request, ms_cli_ending *ending,
                             ms_error *err);

/* Finds a file of the package memscope_torch, in the build tree or where it is installed. */
ms_status ms_cli_find_script(const char *name, char *path, size_t size, ms_error *err);

/* ---- executable ---- */

/* Whether the null device can be loaded into a program. */

/* Refuses programs that cannot be captured: set-uid programs and, if a library must be loaded,
 * programs of another ABI than memscope. For a script its interpreter counts. A missing program is
 * not an error here. */
ms_status ms_cli_check_program(const char *name, bool takes_library, ms_error *err);

/* Refuses a capture within a capture, and paths that LD_PRELOAD cannot contain. */
ms_status ms_cli_check_environment(ms_error *err);

/* Whether a program is statically linked. It may start others that are not, so this is certain only
 * after it has ended. */
bool ms_cli_is_static(const char *name);

#endif
