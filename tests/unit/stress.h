/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Many passes on the host backend, each with random delays before its calls, links of random rates,
 * and now and then a call that fails or a stop. PASSES= says how many, FIRST= with which they
 * begin; a pass is the same whenever it runs.
 */
#ifndef UNIT_STRESS_H
#define UNIT_STRESS_H

#include <stdlib.h>

#include "unit/backends.h"

static inline uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *seed >> 33;
}

static inline uint64_t seed_of_pass(uint64_t n)
{
    return n * 2654435761U + 1;
}

typedef enum trouble { TROUBLE_NONE, TROUBLE_FAILURE, TROUBLE_STOP } trouble;

static inline trouble pick_trouble(uint64_t *seed)
{
    enum { OF = 8 };
    uint64_t n = next_random(seed) % OF;
    return n == 0 ? TROUBLE_STOP : n <= 2 ? TROUBLE_FAILURE : TROUBLE_NONE;
}

static inline double pick_rate(uint64_t *seed)
{
    static const double rates[] = {0, 1e9, 1e8};
    return rates[next_random(seed) % COUNT_OF(rates)];
}

/* Products by the plain loop, as ThreadSanitizer does not see into a BLAS. */
static inline ms_backend_host_options pick_links(uint64_t *seed, uint64_t capacity_bytes)
{
    ms_backend_host_options options = {.capacity_bytes = capacity_bytes, .has_no_blas = true};
    options.to_device_bytes = pick_rate(seed);
    options.to_host_bytes = pick_rate(seed);
    return options;
}

/* `stop` stops it too. */
static inline troubled_backend *open_stressed(uint64_t *seed, ms_backend_host_options options,
                                              ms_stop *stop)
{
    static const ms_status failures[] = {MS_ERR_IO, MS_ERR_OVER_BUDGET, MS_ERR_NOMEM};
    options.stop = stop;
    troubled_backend *t = open_troubled(open_host(&options));
    t->most_delay_us = 1 + (uint32_t)(next_random(seed) % 100);
    t->seed = (uint32_t)next_random(seed);
    t->failure = failures[next_random(seed) % COUNT_OF(failures)];
    t->stop = stop;
    return t;
}

static inline uint64_t number_or(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

static inline void run_passes(void (*pass)(uint64_t n), uint64_t usual_count)
{
    uint64_t first = number_or("FIRST", 0), count = number_or("PASSES", usual_count);
    for (uint64_t n = first; n < first + count; n++) {
        if (n % 1000 == 999) {
            printf("pass %llu\n", (unsigned long long)n + 1);
            fflush(stdout);
        }
        pass(n);
    }
    printf("%llu passes\n", (unsigned long long)count);
}

#endif
