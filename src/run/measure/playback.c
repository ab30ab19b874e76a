/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/measure/playback.h"

#include <stdlib.h>

#include "core/device/rates.h"

/* ---- clock ---- */

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

/* ---- playback ---- */

bool ms_playback_init(ms_playback *playback, const ms_trace *trace, const ms_device *device)
{
    *playback = (ms_playback){.trace = trace, .device = device};
    playback->works = calloc((size_t)trace->works.count + 1, sizeof *playback->works);
    playback->ready_ms = calloc((size_t)trace->streams.count + 1, sizeof *playback->ready_ms);
    return playback->works && playback->ready_ms;
}

void ms_playback_free(ms_playback *playback)
{
    free(playback->works);
    free(playback->ready_ms);
    playback->works = NULL;
    playback->ready_ms = NULL;
}

double ms_playback_op(ms_playback *playback, const ms_op_exec *op)
{
    double ms = ms_clock_op_ms(playback->device, op);
    playback->now_ms += ms;
    return ms;
}

static double link_bytes_per_s(const ms_device *device, ms_link link)
{
    switch (link) {
    case MS_LINK_HOST:
        return device->host_link_bytes_per_s;
    case MS_LINK_HOST_MEMORY:
        return device->host_memory_bytes_per_s;
    case MS_LINK_PEER:
        return device->peer_link_bytes_per_s;
    case MS_LINK_NONE: /* between hosts */
        return device->network_bytes_per_s;
    case MS_LINK_COUNT:
        break;
    }
    return 0;
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

double ms_playback_work(ms_playback *playback, uint32_t id)
{
    const ms_work *work = &playback->trace->works.items[id];
    const ms_stream *stream = &playback->trace->streams.items[work->stream];
    double rate = link_bytes_per_s(playback->device, (ms_link)stream->link);
    double ms = rate > 0 ? (double)work->bytes / rate * 1e3 : 0;
    playback->lacks_rate |= !(rate > 0) && work->bytes > 0;
    double *ready = &playback->ready_ms[work->stream];
    double begin = later(*ready, playback->now_ms);
    if (work->after != MS_NONE)
        begin = later(begin, playback->works[work->after].end_ms);
    *ready = begin + ms;
    playback->works[id] = (ms_playback_span){begin, *ready};
    return ms;
}

double ms_playback_wait(ms_playback *playback, uint32_t id)
{
    const ms_wait *wait = &playback->trace->waits.items[id];
    double end = playback->works[wait->work].end_ms, ms = end - playback->now_ms;
    double *ready = &playback->ready_ms[wait->stream];
    if (wait->stream != MS_STREAM_OPERATORS)
        *ready = later(*ready, end);
    if (wait->stream != MS_STREAM_OPERATORS || ms <= 0)
        return 0;
    playback->now_ms = end;
    return ms;
}
