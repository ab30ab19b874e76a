/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/output/temporary.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* Signals that end a program and that somebody sends. SIGXFSZ is ignored: a write that fails is an
 * error like another one. */
static const int endings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU};
enum { ENDINGS = sizeof endings / sizeof endings[0] };
static struct sigaction before[ENDINGS];

static _Atomic(const char *) current;

/* The signal comes again when the handler returns, and ends the program as it would have. */
static void remove_and_end(int number)
{
    const char *name = atomic_load(&current);
    if (name)
        unlink(name);
    signal(number, SIG_DFL);
    raise(number);
}

/* Those that are ignored, or that somebody else takes, stay as they are. */
static void take_signals(void)
{
    struct sigaction wanted = {.sa_handler = remove_and_end};
    sigemptyset(&wanted.sa_mask);
    for (int i = 0; i < ENDINGS; i++)
        if (sigaction(endings[i], NULL, &before[i]) == 0 && before[i].sa_handler == SIG_DFL)
            sigaction(endings[i], &wanted, NULL);
}

int ms_cli_temporary_make(char *name)
{
    sigset_t ending, mask;
    sigemptyset(&ending);
    for (int i = 0; i < ENDINGS; i++)
        sigaddset(&ending, endings[i]);
    sigprocmask(SIG_BLOCK, &ending, &mask); /* no file without a handler that knows it */
    int fd = mkstemp(name), reason = errno;
    if (fd >= 0) {
        atomic_store(&current, name);
        take_signals();
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
    errno = reason;
    return fd;
}

void ms_cli_temporary_done(void)
{
    int reason = errno;
    for (int i = 0; i < ENDINGS; i++)
        if (before[i].sa_handler == SIG_DFL)
            sigaction(endings[i], &before[i], NULL);
    atomic_store(&current, NULL);
    errno = reason;
}
