/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One operator on a device: its matrix products, in the shapes that the trace has, else memory
 * traffic of its bytes.
 */
#ifndef MS_HARDWARE_REPLAY_REPLAY_OPERATOR_H
#define MS_HARDWARE_REPLAY_REPLAY_OPERATOR_H

#include "hardware/replay/replay_work.h"

ms_status ms_replay_operator_run(ms_replay_work *work, const ms_op_exec *op,
                                 ms_backend_stream *stream, ms_error *err);

/* What of a product runs at a time, with the storages that have memory; false where they do not let
 * it run. */
bool ms_replay_operator_fit(const ms_replay_work *work, const ms_op_exec *op, const ms_gemm *whole,
                            ms_backend_product *most);

#endif
