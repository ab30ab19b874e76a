/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/simulate/watch.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"

struct ms_watch {
    atomic_bool stopped;
    atomic_uint_fast64_t done;
};

ms_watch *ms_watch_create(void)
{
    return calloc(1, sizeof(ms_watch));
}

void ms_watch_free(ms_watch *watch)
{
    free(watch);
}

uint64_t ms_watch_done(const ms_watch *watch)
{
    return watch ? atomic_load(&watch->done) : 0;
}

void ms_watch_stop(ms_watch *watch)
{
    if (watch)
        atomic_store(&watch->stopped, true);
}

ms_status ms_watch_check(const ms_watch *watch, ms_error *err)
{
    return watch && atomic_load(&watch->stopped) ? ms_fail(err, MS_ERR_STOPPED, "stopped") : MS_OK;
}

void ms_watch_count(ms_watch *watch)
{
    if (watch)
        atomic_fetch_add(&watch->done, 1);
}
