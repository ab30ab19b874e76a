/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/deadline.h"

#define LONGEST_S 1e9

bool ms_stop_asked(const ms_stop *stop)
{
    return stop && atomic_load_explicit(stop, memory_order_relaxed) != 0;
}

double ms_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

ms_deadline ms_deadline_begin(double seconds, const ms_stop *stop)
{
    ms_deadline limit = {.stop = stop};
    double whole = seconds < LONGEST_S ? seconds : LONGEST_S;
    clock_gettime(CLOCK_MONOTONIC, &limit.end);
    limit.end.tv_sec += (time_t)whole;
    limit.end.tv_nsec += (long)((whole - (double)(time_t)whole) * 1e9);
    if (limit.end.tv_nsec >= 1000000000) {
        limit.end.tv_sec++;
        limit.end.tv_nsec -= 1000000000;
    }
    return limit;
}

bool ms_deadline_stopped(const ms_deadline *limit)
{
    return ms_stop_asked(limit->stop);
}

double ms_deadline_left_s(const ms_deadline *limit)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double left =
        (double)(limit->end.tv_sec - now.tv_sec) + (double)(limit->end.tv_nsec - now.tv_nsec) / 1e9;
    return left > 0 ? left : 0;
}

bool ms_deadline_reached(const ms_deadline *limit)
{
    return ms_deadline_stopped(limit) || !(ms_deadline_left_s(limit) > 0);
}
