/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Clock: the time of operators on a device. Operators run one after the other.
 *
 * Roofline: the larger of FLOPs / dense rate and bytes / bandwidth, both of the data sheet; no
 * kernel is faster. With the rates that the device reaches (core/device/rates.h):
 *
 *     product    kernels * kernel_us + FLOPs / (share * dense rate) + traffic * bytes / bandwidth
 *     attention  the same, with the figures of its pass
 *     other      kernels * kernel_us + bytes / (memory_share * bandwidth)
 *
 * and none faster than its bytes at that share of the bandwidth; all divided by step_share. A
 * calibration's classes are multiples of the roofline; an MFU is the share of the dense rate for
 * products and attention.
 */
#ifndef MS_RUN_MEASURE_CLOCK_H
#define MS_RUN_MEASURE_CLOCK_H

#include "core/device/device.h"
#include "core/trace/trace.h"

/* Arithmetic rate for operands of a dtype, FLOP/s; 0 when unknown. */
double ms_clock_rate_flops(const ms_device *device, ms_dtype dtype);

/* Milliseconds of one execution of an operator by the roofline; 0 when the memory bandwidth is
 * unknown. */
double ms_clock_roofline_ms(const ms_device *device, const ms_op_exec *op);

/* Milliseconds of one execution at what is known of the device: an MFU, a calibration, the rates
 * that it reaches, the roofline, the first of them that there is. */
double ms_clock_op_ms(const ms_device *device, const ms_op_exec *op);

#endif
