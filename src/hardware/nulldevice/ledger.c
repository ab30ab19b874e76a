/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 *     + KIND DEVICE ID ASKED GRANTED FUNCTION...
 *     - KIND DEVICE ID
 *     ! KIND DEVICE ASKED
 *     w ID
 *     p HOW CALL
 *
 * Taken, given back, refused, and used as cuBLAS's workspace; the first call for memory of the
 * driver's pools that was answered (a), and each that was not (u). Functions are those that were
 * running, innermost first, by their symbols. Each line is written at once, so that a program may
 * be cut off at any moment. A process has its own file.
 */
#define _GNU_SOURCE /* for dladdr; NOLINT(clang-diagnostic-reserved-macro-identifier) */
#include "hardware/nulldevice/ledger.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hardware/nulldevice/nulldevice.h"
#include "hardware/nulldevice/symbols.h"

enum { MOST_FRAMES = 64, LINE_BYTES = 8192, PATH_BYTES = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int file = -1;
static pid_t owner; /* a child of fork has a file of its own */

/* Whether the program is followed here. */
static bool null_ledger_is_open(void)
{
    return !ms_null_listening()->read && getenv("MEMSCOPE_CAPTURE_DIR");
}

static void open_file(void)
{
    char path[PATH_BYTES];
    if (file >= 0 && owner == getpid())
        return;
    if (file >= 0)
        close(file);
    owner = getpid();
    int length =
        snprintf(path, sizeof path, "%s/%ld.ledger", getenv("MEMSCOPE_CAPTURE_DIR"), (long)owner);
    file = length > 0 && length < PATH_BYTES
               ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)
               : -1;
}

static void put(const char *line, size_t bytes)
{
    pthread_mutex_lock(&lock);
    open_file();
    while (file >= 0 && bytes > 0) {
        ssize_t done = write(file, line, bytes);
        if (done <= 0)
            break;
        line += done;
        bytes -= (size_t)done;
    }
    pthread_mutex_unlock(&lock);
}

/* Appends the functions, as many as there is room for. */
static size_t add_functions(char *line, size_t used)
{
    void *frames[MOST_FRAMES];
    int count = backtrace(frames, MOST_FRAMES);
    Dl_info own, found;
    if (!dladdr((void *)(uintptr_t)add_functions, &own))
        return used;
    for (int i = 0; i < count; i++) {
        /* Of a return address: the call is before it. */
        const char *call = (const char *)frames[i] - 1;
        if (!dladdr(call, &found) || found.dli_fbase == own.dli_fbase)
            continue;
        const char *name = found.dli_sname ? found.dli_sname : ms_null_symbol_of(call);
        size_t bytes = name ? strlen(name) : 0;
        if (bytes == 0 || bytes + 2 > LINE_BYTES - used)
            continue;
        used += (size_t)snprintf(line + used, LINE_BYTES - used, " %s", name);
    }
    return used;
}

void ms_null_note_taken(char kind, int device, uint64_t id, uint64_t asked, uint64_t granted)
{
    char line[LINE_BYTES];
    if (!null_ledger_is_open())
        return;
    int used = snprintf(line, sizeof line, "+ %c %d %" PRIu64 " %" PRIu64 " %" PRIu64, kind, device,
                        id, asked, granted);
    size_t bytes = add_functions(line, (size_t)used);
    line[bytes++] = '\n';
    put(line, bytes);
}

void ms_null_note_given_back(char kind, int device, uint64_t id)
{
    char line[128];
    if (!null_ledger_is_open())
        return;
    int used = snprintf(line, sizeof line, "- %c %d %" PRIu64 "\n", kind, device, id);
    put(line, (size_t)used);
}

void ms_null_note_refused(char kind, int device, uint64_t asked)
{
    char line[128];
    if (!null_ledger_is_open())
        return;
    int used = snprintf(line, sizeof line, "! %c %d %" PRIu64 "\n", kind, device, asked);
    put(line, (size_t)used);
}

void ms_null_note_workspace(const void *address)
{
    char line[128];
    if (!address || !null_ledger_is_open())
        return;
    int used = snprintf(line, sizeof line, "w %" PRIuPTR "\n", (uintptr_t)address);
    put(line, (size_t)used);
}

void ms_null_note_pool(char how, const char *call)
{
    static atomic_bool was_noted;
    char line[128];
    if (!null_ledger_is_open() || (how == 'a' && atomic_exchange(&was_noted, true)))
        return;
    int used = snprintf(line, sizeof line, "p %c %s\n", how, call);
    put(line, (size_t)used);
}
