/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Whether a trace of a file can be replayed.
 */
#ifndef MS_HARDWARE_REPLAY_REPLAY_CHECK_H
#define MS_HARDWARE_REPLAY_REPLAY_CHECK_H

#include "base/error.h"
#include "core/trace/trace.h"

/* MS_ERR_CONFIG, with one sentence: it lacks the streams that every trace has, or a step, or
 * has too many streams. ms_trace_read accepts such traces; ms_replay_run expects none. */
ms_status ms_replay_check(const ms_trace *trace, ms_error *err);

#endif
