/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/stream/stream_times.h"

#include <string.h>

void ms_stream_times_list(const ms_stream_times *times, double ms[MS_STREAM_TIMES])
{
    const double listed[MS_STREAM_TIMES] = {times->compute_ms, times->copy_ms, times->hidden_ms,
                                            times->exposed_ms, times->pass_ms, times->first_ms};
    memcpy(ms, listed, sizeof listed);
}

void ms_stream_times_json(ms_json_writer *w, const char *key, const ms_stream_times *times)
{
    static const char *const keys[MS_STREAM_TIMES] = {"compute", "copies", "hidden",
                                                      "exposed", "pass",   "first_pass"};
    double ms[MS_STREAM_TIMES];
    ms_stream_times_list(times, ms);
    ms_json_object(w, key);
    for (int i = 0; i < MS_STREAM_TIMES; i++)
        ms_json_double(w, keys[i], ms[i], 6);
    ms_json_close(w);
}
