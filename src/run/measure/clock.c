/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/measure/clock.h"

#include "core/device/rates.h"

double ms_clock_rate_flops(const ms_device *device, ms_dtype dtype)
{
    /* PyTorch multiplies fp32 matrices in full precision unless told otherwise, so not at the TF32
     * rate. A 16-bit dtype without a rate of its own is computed in fp32. */
    double rate = dtype == MS_DTYPE_BF16  ? device->bf16_flops
                  : dtype == MS_DTYPE_F16 ? device->fp16_flops
                                          : device->fp32_flops;
    return rate > 0 ? rate : device->fp32_flops;
}

/* An operator's work in seconds at the data sheet's rates. */
typedef struct seconds {
    double arithmetic, traffic;
} seconds;

static seconds at_peak(const ms_device *device, const ms_op_exec *op)
{
    double rate = ms_clock_rate_flops(device, (ms_dtype)op->matmul_dtype);
    if (!(device->memory_bytes_per_s > 0)) /* most operators would take no time */
        return (seconds){0};
    return (seconds){.arithmetic = rate > 0 ? (double)op->flops / rate : 0,
                     .traffic = (double)op->traffic_bytes / device->memory_bytes_per_s};
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

double ms_clock_roofline_ms(const ms_device *device, const ms_op_exec *op)
{
    seconds s = at_peak(device, op);
    return larger(s.arithmetic, s.traffic) * 1e3;
}

static double figure(const ms_device *device, ms_rate_figure which)
{
    return device->rates->figures[which].value;
}

/* Without the kernels' own time. */
static double reached_s(const ms_device *device, const ms_op_exec *op, ms_op_class class)
{
    seconds s = at_peak(device, op);
    double memory = s.traffic / figure(device, MS_RATE_MEMORY_SHARE), work = 0;
    ms_rate_figure share = op->pass == MS_PASS_BACKWARD ? MS_RATE_ATTENTION_BACKWARD_SHARE
                                                        : MS_RATE_ATTENTION_FORWARD_SHARE;
    if (class == MS_OP_PRODUCT)
        work = s.arithmetic / figure(device, MS_RATE_PRODUCT_SHARE) +
               s.traffic * figure(device, MS_RATE_PRODUCT_TRAFFIC);
    else if (class == MS_OP_ATTENTION)
        work = s.arithmetic / figure(device, share) +
               s.traffic * figure(device, MS_RATE_ATTENTION_TRAFFIC);
    return larger(work, memory);
}

static double reached_ms(const ms_device *device, const ms_op_exec *op, ms_op_class class)
{
    double s = reached_s(device, op, class);
    double kernels = op->product_count > 1 ? op->product_count : 1;
    double alone_ms = s > 0 ? s * 1e3 + kernels * figure(device, MS_RATE_KERNEL_US) * 1e-3 : 0;
    return alone_ms / figure(device, MS_RATE_STEP_SHARE);
}

double ms_clock_op_ms(const ms_device *device, const ms_op_exec *op)
{
    ms_op_class class = ms_op_class_of(op->name, op->flops > 0);
    if (device->mfu > 0 && class != MS_OP_OTHER) {
        seconds s = at_peak(device, op);
        return larger(s.arithmetic / device->mfu, s.traffic) * 1e3;
    }
    if (device->slowdown[class] > 0)
        return ms_clock_roofline_ms(device, op) * device->slowdown[class];
    return device->rates ? reached_ms(device, op, class) : ms_clock_roofline_ms(device, op);
}
