/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The times of a streamed pass, as the reports list them.
 */
#ifndef MS_REPORT_STREAM_STREAM_TIMES_H
#define MS_REPORT_STREAM_STREAM_TIMES_H

#include "base/json/members.h"
#include "serve/stream/clock.h"

enum { MS_STREAM_TIMES = 6 };

/* In the order of columns: computing, copies, hidden, exposed, a pass, the first pass. */
void ms_stream_times_list(const ms_stream_times *times, double ms[MS_STREAM_TIMES]);

extern const ms_members ms_stream_times_table; /* in ms */

#endif
