/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How long the link between device and host is busy in the steady step.
 */
#ifndef MS_RUN_MEASURE_LINK_USE_H
#define MS_RUN_MEASURE_LINK_USE_H

#include "base/error.h"
#include "core/device/device.h"
#include "run/measure/usage.h"

/* While at least one copy runs, in either direction, including micro-steps that one stands for; 0
 * on a device without rates. The trace has the operators of its last step. */
ms_status ms_link_use_measure(const ms_trace *trace, const ms_usage *usage, const ms_device *device,
                              double *busy_ms, ms_error *err);

#endif
