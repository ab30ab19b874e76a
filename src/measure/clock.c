/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "measure/clock.h"

double ms_clock_rate_flops(const ms_device *device, ms_dtype dtype)
{
    /* PyTorch multiplies fp32 matrices in full precision unless told otherwise, so not at the TF32
     * rate. A 16-bit dtype without a rate of its own is computed in fp32. */
    double rate = dtype == MS_DTYPE_BF16  ? device->bf16_flops
                  : dtype == MS_DTYPE_F16 ? device->fp16_flops
                                          : device->fp32_flops;
    return rate > 0 ? rate : device->fp32_flops;
}

double ms_clock_op_ms(const ms_device *device, const ms_op_exec *op)
{
    double rate = ms_clock_rate_flops(device, (ms_dtype)op->matmul_dtype);
    double arithmetic = rate > 0 ? (double)op->flops / rate : 0;
    if (!(device->memory_bytes_per_s > 0)) /* most operators would take no time */
        return 0;
    double traffic = (double)op->traffic_bytes / device->memory_bytes_per_s;
    double slowdown = device->slowdown[ms_op_class_of(op->name, op->flops > 0)];
    return (arithmetic > traffic ? arithmetic : traffic) * (slowdown > 0 ? slowdown : 1) * 1e3;
}
