/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/output/interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <time.h>

/* What the handler may look at. Whoever runs the program may pass one Ctrl-C on twice, so only a
 * later one counts as the second. */
static _Atomic(ms_cli_stop) stop_running;
static _Atomic(void *) running;
static atomic_long first_second;

static void on_interrupt(int number)
{
    struct timespec now = {.tv_sec = 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    long second = (long)now.tv_sec + 1, first = 0;
    ms_cli_stop stop = atomic_load(&stop_running);
    if (atomic_compare_exchange_strong(&first_second, &first, second)) {
        if (stop)
            stop(atomic_load(&running));
    } else if (second > first + 1) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

void ms_cli_stop_on_signal(int number, ms_cli_stop stop, void *what)
{
    struct sigaction now = {.sa_handler = SIG_DFL}, wanted = {.sa_handler = SIG_DFL};
    if (sigaction(number, NULL, &now) != 0 || now.sa_handler == SIG_IGN)
        return;
    atomic_store(&running, what);
    atomic_store(&stop_running, stop);
    if (stop)
        wanted.sa_handler = on_interrupt;
    sigemptyset(&wanted.sa_mask);
    sigaction(number, &wanted, NULL);
}
