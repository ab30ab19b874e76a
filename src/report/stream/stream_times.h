/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The times of a streamed pass, as the reports list them.
 */
#ifndef MS_REPORT_STREAM_STREAM_TIMES_H
#define MS_REPORT_STREAM_STREAM_TIMES_H

#include "base/json/write.h"
#include "serve/stream/clock.h"

enum { MS_STREAM_TIMES = 6 };

/* In the order of columns: computing, copies, hidden, exposed, a pass, the first pass. */
void ms_stream_times_list(const ms_stream_times *times, double ms[MS_STREAM_TIMES]);

/* An object of them, in ms. */
void ms_stream_times_json(ms_json_writer *writer, const char *key, const ms_stream_times *times);

#endif
