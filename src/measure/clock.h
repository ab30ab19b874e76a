/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Clock: the time of operators on a device, by a roofline: the larger of arithmetic / dense rate
 * and traffic / memory bandwidth. Operators run one after the other. A low estimate: kernels do not
 * reach the peak rates, and launch gaps are not counted.
 */
#ifndef MS_MEASURE_CLOCK_H
#define MS_MEASURE_CLOCK_H

#include "device/device.h"
#include "trace/trace.h"

/* Arithmetic rate for operands of a dtype, FLOP/s; 0 when unknown. */
double ms_clock_rate_flops(const ms_device *device, ms_dtype dtype);

/* Milliseconds of one execution of an operator; 0 when the memory bandwidth is unknown. */
double ms_clock_op_ms(const ms_device *device, const ms_op_exec *op);

#endif
