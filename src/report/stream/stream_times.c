/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/stream/stream_times.h"

#include <string.h>

void ms_stream_times_list(const ms_stream_times *times, double ms[MS_STREAM_TIMES])
{
    const double listed[MS_STREAM_TIMES] = {times->compute_ms, times->copy_ms, times->hidden_ms,
                                            times->exposed_ms, times->pass_ms, times->first_ms};
    memcpy(ms, listed, sizeof listed);
}

#define TIME(...) MS_MEMBER(ms_stream_times, __VA_ARGS__, .decimals = 6)
static const ms_member members[] = {
    TIME("compute", compute_ms), TIME("copies", copy_ms), TIME("hidden", hidden_ms),
    TIME("exposed", exposed_ms), TIME("pass", pass_ms),   TIME("first_pass", first_ms),
};
const ms_members ms_stream_times_table = MS_MEMBERS(ms_stream_times, members);
