/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Upper bounds of speed, by a roofline: a pass takes at least its arithmetic over the dense rate of
 * the data sheet, and at least the bytes that it reads over the bandwidth of the memory.
 *
 *     arithmetic  2 * weights multiplied, for each token; for attention, 2 * heads * (width of a
 *                 key + width of a value) for each pair of a token and one that it sees
 *     bytes       the weights once, however many sequences share them; the cache of each sequence;
 *                 less what the level 2 cache may still hold
 *
 * What is on the host is read at the host's bandwidth, before or after what the device reads:
 * layers come one after the other. Then arithmetic does not count, as either may do it.
 *
 * A mixture's token multiplies its own experts' weights; as few experts as that are read, as all
 * sequences may choose the same.
 */
#ifndef MS_SERVE_INFER_SPEED_ROOFLINE_H
#define MS_SERVE_INFER_SPEED_ROOFLINE_H

#include "core/device/device.h"
#include "serve/infer/kit/result.h"
#include "serve/infer/kit/settings.h"
#include "serve/infer/kit/work.h"

typedef struct ms_infer_tokens {
    uint64_t prompt, context; /* of a sequence */
    uint64_t sequences;
} ms_infer_tokens;

/* Tokens per second, of all sequences together. */
typedef struct ms_infer_bound {
    double per_s;  /* 0: no bound */
    bool by_bytes; /* which of the two it is */
} ms_infer_bound;

typedef struct ms_infer_speed {
    const char *reason;     /* why there is none at all; NULL: there are some */
    const char *no_prefill; /* why there is none of the prompts, if there are others; or NULL */
    ms_infer_bound prefill; /* of the prompts */
    ms_infer_bound decode, full; /* with the prompt in the cache; with the context full */
    ms_infer_bound even;         /* as `decode`, if experts are chosen evenly: no bound */
    const char *type;            /* of the arithmetic's rate */
} ms_infer_speed;

ms_infer_speed ms_infer_roofline(const ms_device *device, const ms_infer_work *work,
                                 ms_infer_tokens tokens);

/* The tokens of a result: the engine's figure "prompt", else the setting. */
ms_infer_tokens ms_infer_tokens_of(const ms_infer_settings *settings,
                                   const ms_infer_result *result);

#endif
