/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Byte counts with sticky overflow: compute first, check `overflow` once at the end.
 */
#ifndef MS_BASE_SIZE_H
#define MS_BASE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ms_size {
    uint64_t bytes;
    bool overflow;
} ms_size;

static inline ms_size ms_size_of(uint64_t bytes)
{
    return (ms_size){.bytes = bytes};
}

static inline ms_size ms_size_mul(ms_size a, uint64_t n)
{
    ms_size r = {.overflow = a.overflow};
    r.overflow |= __builtin_mul_overflow(a.bytes, n, &r.bytes);
    return r;
}

static inline ms_size ms_size_add(ms_size a, uint64_t n)
{
    ms_size r = {.overflow = a.overflow};
    r.overflow |= __builtin_add_overflow(a.bytes, n, &r.bytes);
    return r;
}

/* The bytes; UINT64_MAX where they overflowed. */
static inline uint64_t ms_size_capped(ms_size a)
{
    return a.overflow ? UINT64_MAX : a.bytes;
}

/* Rounds up to a multiple of `step` (> 0). */
static inline ms_size ms_size_round_up(ms_size a, uint64_t step)
{
    uint64_t rest = a.bytes % step;
    return rest ? ms_size_add(a, step - rest) : a;
}

#endif
