/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "serve/infer/speed/roofline.h"

#include <math.h>
#include <string.h>

/* Where the size of the level 2 cache is not known; no device of the table has more. */
static const double most_l2_bytes = 256.0 * 1024 * 1024;

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* Tokens that one at `position`, counted from 1, sees. */
static double seen(const ms_work_span *span, double position)
{
    return span->window > 0 ? smaller(position, (double)span->window) : position;
}

/* The sum over positions 1 to `tokens`. */
static double pairs(const ms_work_span *span, double tokens)
{
    double window = span->window > 0 ? smaller(tokens, (double)span->window) : tokens;
    return window * (window + 1) / 2 + (tokens - window) * window;
}

/* Distinct experts of a layer that so many tokens choose on average, each as often as any. */
static double even_experts(const ms_infer_work *w, double tokens)
{
    double share = w->experts > 0 ? (double)w->used / (double)w->experts : 0;
    return (double)w->experts * (1 - pow(1 - share, tokens));
}

/* `host_bytes`: of all that is read. */
static ms_infer_bound bound_of(const ms_device *d, const ms_infer_work *w, double tokens,
                               double flops, double bytes, double host_bytes, uint32_t devices)
{
    double cached = d->l2_bytes > 0 ? (double)d->l2_bytes : most_l2_bytes;
    double count = devices > 0 ? devices : 1, rest = bytes - host_bytes - cached * count;
    double arithmetic = w->flops > 0 && !(host_bytes > 0) ? flops / (w->flops * count) : 0;
    double traffic =
        rest > 0 && d->memory_bytes_per_s > 0 ? rest / (d->memory_bytes_per_s * count) : 0;
    if (host_bytes > 0)
        traffic += host_bytes / w->host.bytes_per_s;
    double least = arithmetic > traffic ? arithmetic : traffic;
    return (ms_infer_bound){least > 0 ? tokens / least : 0, traffic >= arithmetic};
}

static double weight_bytes(const ms_infer_work *w, double experts)
{
    return w->layers.bytes + w->head.bytes + experts * w->expert.bytes;
}

static double token_flops(const ms_infer_work *w)
{
    return 2 * (w->layers.count + (double)w->used * w->expert.count);
}

static ms_infer_bound prefill(const ms_device *d, const ms_infer_work *w, ms_infer_tokens t)
{
    double prompt = (double)t.prompt, sequences = (double)t.sequences;
    double flops = prompt * token_flops(w) + 2 * w->head.count;
    for (int i = 0; i < MS_WORK_SPANS; i++)
        flops += pairs(&w->spans[i], prompt) * w->spans[i].pair_flops;
    return bound_of(d, w, sequences * prompt, sequences * flops, weight_bytes(w, (double)w->used),
                    0, w->prefill_devices);
}

/* Of a token of each sequence after so many. */
static ms_infer_bound decode(const ms_device *d, const ms_infer_work *w, double sequences,
                             double position, double experts)
{
    double flops = token_flops(w) + 2 * w->head.count, bytes = 0;
    double on_host = w->host.bytes + experts * w->host.expert_bytes;
    for (int i = 0; i < MS_WORK_SPANS; i++) {
        double tokens = seen(&w->spans[i], position);
        flops += tokens * w->spans[i].pair_flops;
        bytes += tokens * w->spans[i].token_bytes;
        on_host += sequences * tokens * w->host.token_bytes[i];
    }
    return bound_of(d, w, sequences, sequences * flops,
                    weight_bytes(w, experts) + sequences * bytes, on_host, w->decode_devices);
}

ms_infer_speed ms_infer_roofline(const ms_device *d, const ms_infer_work *w, ms_infer_tokens t)
{
    ms_infer_speed speed = {.reason = w->reason, .no_prefill = w->no_prefill, .type = w->type};
    double sequences = (double)t.sequences, used = (double)w->used;
    const double rate = d->is_cpu ? w->host.bytes_per_s : d->memory_bytes_per_s;
    if (!speed.reason && !(rate > 0))
        speed.reason = d->is_cpu ? "the bandwidth of the host's memory is not known"
                                 : "the bandwidth of the device is not known";
    if (speed.reason)
        return speed;
    if (w->flops > 0 && !w->no_prefill)
        speed.prefill = prefill(d, w, t);
    speed.decode = decode(d, w, sequences, (double)t.prompt, used);
    speed.full = decode(d, w, sequences, (double)t.context, used);
    if (w->experts > w->used && t.sequences > 1)
        speed.even = decode(d, w, sequences, (double)t.prompt, even_experts(w, sequences));
    return speed;
}

ms_infer_tokens ms_infer_tokens_of(const ms_infer_settings *s, const ms_infer_result *r)
{
    ms_infer_tokens t = {.prompt = s->prompt,
                         .context = r->context ? r->context : s->context,
                         .sequences = s->concurrency};
    for (uint32_t i = 0; i < r->figures.count; i++)
        if (strcmp(r->figures.items[i].name, "prompt") == 0)
            t.prompt = r->figures.items[i].value;
    t.prompt = t.prompt < t.context ? t.prompt : t.context;
    return t;
}
