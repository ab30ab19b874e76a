/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Clock: how long a step would take on a device. A roofline for each operator: the longer of its
 * arithmetic at the device's dense rate and its traffic at the memory's bandwidth, one after the
 * other. An estimate, and a low one: no launch gaps, no kernel reaches its peak.
 */
#ifndef MS_MEASURE_CLOCK_H
#define MS_MEASURE_CLOCK_H

#include "device/device.h"
#include "trace/trace.h"

/* Arithmetic rate for operands of a dtype; 0 when the device's row has none. */
double ms_clock_rate_flops(const ms_device *device, ms_dtype dtype);

/* One execution of an operator; 0 when the memory's bandwidth is not known. */
double ms_clock_op_ms(const ms_device *device, const ms_op_exec *op);

#endif
