/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Events on the operators' stream that divide its time by phase and by what it does, and pairs of
 * events around the work of other streams. Read when everything is done.
 */
#ifndef MS_HARDWARE_REPLAY_REPLAY_CLOCK_H
#define MS_HARDWARE_REPLAY_REPLAY_CLOCK_H

#include "hardware/replay/replay.h"

/* From here on the stream does this. */
typedef struct ms_replay_mark {
    ms_backend_event *event;
    uint32_t phase; /* of the result */
    uint8_t what;   /* ms_op_class, MS_REPLAY_WAITING or MS_REPLAY_BETWEEN */
} ms_replay_mark;

typedef struct ms_replay_span {
    ms_backend_event *begin, *end;
    uint32_t repeats;
    bool is_host; /* an update by the host; else a copy */
} ms_replay_span;

typedef struct ms_replay_clock {
    ms_backend *backend;
    bool measures_link;                /* also when copies run, which takes more calls */
    ms_vec(ms_backend_event *) events; /* all that were opened */
    ms_vec(ms_replay_mark) marks;
    ms_vec(ms_replay_span) spans;
} ms_replay_clock;

void ms_replay_clock_free(ms_replay_clock *clock);

/* An event that lives as long as the clock. */
ms_status ms_replay_clock_event(ms_replay_clock *clock, ms_backend_event **event, ms_error *err);

/* Nothing where the stream does that already. */
ms_status ms_replay_clock_mark(ms_replay_clock *clock, ms_backend_stream *stream, uint32_t phase,
                               uint8_t what, ms_error *err);

/* Sums the times into the result, once every stream is done. The last mark ends the step. */
ms_status ms_replay_clock_read(const ms_replay_clock *clock, ms_replay_result *result,
                               ms_error *err);

#endif
